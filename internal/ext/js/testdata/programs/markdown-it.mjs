import MarkdownIt from "markdown-it";
const md = new MarkdownIt({ html: true, linkify: true, typographer: true });
console.log(md.render('# Title\n\n"Quoted" -- and www.example.org...\n\n|a|\n|-|\n|b|\n\n* x\n\n      code\n\n<div>raw</div>'));
console.log(md.parse("*a* `b`", {}).flatMap((t) => t.children?.map((c) => c.type) ?? t.type), md.utils.escapeHtml("<&>"));
