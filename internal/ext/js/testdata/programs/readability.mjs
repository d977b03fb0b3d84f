// npm: linkedom, @mozilla/readability, turndown
import { parseHTML } from "linkedom";
import { Readability } from "@mozilla/readability";
import TurndownService from "turndown";
const para = "A long sentence about nothing in particular, with commas, clauses, and enough words to count as the content of an article. ".repeat(4);
const { document } = parseHTML(`<!doctype html><html><head><title>The title</title></head><body><nav><a href="/">Home</a></nav><article><h1>The title</h1><p>${para}</p><p>${para}<a href="/x">link</a></p><pre><code class="language-js">let a = 1;</code></pre></article><footer>foot</footer></body></html>`);
console.log(document.querySelectorAll("p").length, document.querySelector("a[href='/x']").textContent);
const r = new Readability(document).parse();
console.log(r.title, r.length, r.excerpt.slice(0, 40));
console.log(new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced" }).turndown(r.content.replace(/A long[^<]*/g, "TEXT ")));
