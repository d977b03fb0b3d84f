import JSZip from "jszip";
const z = new JSZip();
z.file("a.txt", "hello ".repeat(50));
z.folder("d").file("b.bin", new Uint8Array([1, 2, 255]));
const data = await z.generateAsync({ type: "nodebuffer", compression: "DEFLATE" });
const back = await JSZip.loadAsync(data);
console.log(Buffer.isBuffer(data), data.length < 400, Object.keys(back.files), (await back.file("a.txt").async("string")).length, [...(await back.file("d/b.bin").async("uint8array"))]);
try { await JSZip.loadAsync("no zip"); } catch (e) { console.log(/is this a zip file/.test(e.message)); }
