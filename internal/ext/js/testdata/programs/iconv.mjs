// npm: iconv-lite
import iconv from "iconv-lite";
console.log(iconv.encode("é€ñ", "win1252"), iconv.decode(Buffer.from([0x82, 0xa0, 0x83, 0x41]), "shift_jis"), iconv.encode("漢字", "gb18030").toString("hex"), iconv.decode(Buffer.from("feff00480069", "hex"), "utf16"), iconv.encodingExists("koi8-r"));
const s = iconv.decodeStream("latin1");
let out = "";
s.on("data", (d) => { out += d; });
s.end(Buffer.from([0xe4, 0xf6]));
await new Promise((r) => s.on("end", r));
console.log(out);
