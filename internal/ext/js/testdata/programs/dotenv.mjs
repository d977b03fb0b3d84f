import dotenv from "dotenv";
import fs from "node:fs";
console.log(dotenv.parse("A=1\nB=\"two\\nlines\" # c\nC='sin $A'\nexport D = d \n#E=5\nF="));
fs.writeFileSync("program.env", "PROGRAM_ENV=set\nPATH=kept");
const before = process.env.PATH;
const r = dotenv.config({ path: "program.env", quiet: true });
console.log(process.env.PROGRAM_ENV, process.env.PATH === before, r.parsed, dotenv.config({ path: "none.env", quiet: true }).error.code);
