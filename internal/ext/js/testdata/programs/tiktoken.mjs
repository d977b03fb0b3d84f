// npm: js-tiktoken
import { getEncoding } from "js-tiktoken";
const e = getEncoding("cl100k_base");
const t = e.encode("Hello, world! Übergrößen 漢字 👍\n\n  indented 12345");
console.log(t, e.decode(t), e.encode("<|endoftext|>", "all"));
