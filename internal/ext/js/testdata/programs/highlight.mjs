// npm: highlight.js
import hljs from "highlight.js";
console.log(hljs.highlight("const a = `x${1}`; // note", { language: "javascript" }).value);
console.log(hljs.highlight("func main() { fmt.Println(\"hi\") }", { language: "go" }).value);
console.log(hljs.highlightAuto("def f(x):\n    return x ** 2", ["python", "ruby", "css"]).language, hljs.listLanguages().length > 150, hljs.getLanguage("ts").name);
