// npm: uuid, nanoid
import { v4, v5, v7, validate, version, parse, stringify, NIL } from "uuid";
import { customAlphabet, nanoid } from "nanoid";
console.log(validate(v4()), version(v7()), v5("name", v5.URL), stringify(parse(NIL)), v4({ random: new Uint8Array(16).fill(7) }), nanoid().length, /^[ab]{8}$/.test(customAlphabet("ab", 8)()), new Set(Array.from({ length: 100 }, () => nanoid())).size);
const a = v7(), b = v7();
console.log(a < b);
