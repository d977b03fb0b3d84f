// npm: unified, remark-parse, remark-rehype, rehype-stringify
import { unified } from "unified";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import rehypeStringify from "rehype-stringify";
const loud = () => (tree) => { const walk = (n) => { if (n.type === "text") n.value = n.value.toUpperCase(); n.children?.forEach(walk); }; walk(tree); };
console.log(String(await unified().use(remarkParse).use(loud).use(remarkRehype).use(rehypeStringify).process("# Hi *you*\n\n* a\n* b `c`\n\n---\n\nsee [x](<y z> \"t\") & <b>no</b>")));
const tree = unified().use(remarkParse).parse("a **b**\n\n1. x");
console.log(tree.children.map((c) => [c.type, c.position.start.line, c.position.end.offset]));
