// npm: chalk, string-width, wrap-ansi, strip-ansi
import { Chalk } from "chalk";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import stripAnsi from "strip-ansi";
const c = new Chalk({ level: 3 });
const s = c.bold.red("red ") + c.hex("#12ab34").bgBlue(`nested ${c.underline("in")} out`);
console.log(JSON.stringify(s), stripAnsi(s), stringWidth(s), stringWidth("漢字 👨‍👩‍👧 é"), new Chalk({ level: 0 }).red("plain"));
console.log(JSON.stringify(wrapAnsi(c.green("a rather long line of words that wraps"), 12)), JSON.stringify(wrapAnsi("unbreakableword", 5, { hard: true })));
