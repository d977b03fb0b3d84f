import { marked, Lexer } from "marked";
console.log(marked.parse("# Head *em*\n\n- [x] done\n- two\n  1. nested\n\n| a | b |\n|---|:-:|\n| `1` | **2** |\n\n> quote <br>\n\n```js\nlet a = 1 < 2;\n```\n\n[l](http://x.y 'T') ![i](u) ~~del~~ https://auto.link"));
console.log(Lexer.lex("para\n\n***\n").map((t) => t.type));
marked.use({ renderer: { heading: ({ depth, text }) => `<h${depth} id="${text.toLowerCase()}">${text}</h${depth}>` } });
console.log(await marked.parse("## Own", { async: true }));
