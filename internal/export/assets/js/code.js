// Colours for source text. Not a parser: comments, strings, numbers, keywords, names
// that are called and names of types, by one regular expression a family of languages.
// Every alternative consumes what it looks at, so that the time is linear.

const maxColoured = 200_000; // characters; more is shown plain

const wordSet = (words) => new Set(words.split(" "));

const cLike = String.raw`(?<c>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))|(?<s>"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|` + "`(?:\\\\[^]|[^`\\\\])*`?)";
const hashLike = String.raw`(?<c>#[^\n]*)|(?<s>"(?:\\[^]|[^"\\])*"?|'(?:\\[^]|[^'\\])*'?)`;
const numberPart = String.raw`|(?<n>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*)`;
const wordPart = String.raw`|(?<w>[\p{L}_$@][\p{L}\p{N}_$]*[!?]?)`;

const words = {
  js: wordSet("as async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of package private protected public return set static super switch this throw true try type typeof undefined var void while yield readonly declare namespace abstract satisfies keyof"),
  go: wordSet("break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var any error string int int64 uint64 int32 uint32 byte rune bool float64 make len cap append copy delete new panic recover min max clear"),
  py: wordSet("and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"),
  rs: wordSet("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"),
  c: wordSet("abstract alignas auto base bool boolean break byte case catch char class const constexpr continue decltype default delete do double else enum event explicit export extends extern false final finally float for foreach fun func goto guard if implements import in inline instanceof int interface internal is let lock long namespace new nil null nullptr object operator out override package private protected protocol public readonly ref return sealed self short signed sizeof static string struct super switch template this throw throws trait true try typedef typename union unsafe unsigned using val var virtual void volatile when where while with yield"),
  sh: wordSet("alias break case continue do done echo elif else esac eval exec exit export fi for function if in local printf read readonly return set shift source test then time trap unset until while cd ls cat grep sed awk find rm cp mv mkdir git go npm npx node python python3 pip make docker curl sudo"),
  sql: wordSet("add all alter and as asc begin between by case cascade check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction union unique update using values view when where with"),
  rb: wordSet("alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_reader attr_accessor puts private"),
  lua: wordSet("and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
  none: new Set(),
};

const family = (pattern, set, options = {}) => ({ source: pattern + numberPart + wordPart, words: words[set], ...options });

const families = {
  js: family(cLike, "js"),
  go: family(cLike, "go"),
  rs: family(String.raw`(?<c>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))|(?<s>"(?:\\[^]|[^"\\])*"?|'(?:\\.|[^'\\\n])')`, "rs"),
  c: family(cLike, "c"),
  py: family(String.raw`(?<c>#[^\n]*)|(?<s>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)`, "py"),
  sh: family(String.raw`(?<c>(?<![\w$\\])#[^\n]*)|(?<s>"(?:\\[^]|[^"\\])*"?|'[^']*'?)|(?<v>\$\{[^}\n]*\}?|\$[\w@#?*!$-]+)|(?<k>(?<=\s)--?[\w-]+)`, "sh"),
  rb: family(hashLike, "rb"),
  lua: family(String.raw`(?<c>--[^\n]*)|(?<s>"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)`, "lua"),
  sql: family(String.raw`(?<c>--[^\n]*|\/\*[^]*?(?:\*\/|$))|(?<s>'(?:''|[^'])*'?)`, "sql", { fold: true }),
  json: { source: String.raw`(?<k>"(?:\\[^]|[^"\\\n])*"(?=\s{0,20}:))|(?<s>"(?:\\[^]|[^"\\\n])*"?)` + numberPart + String.raw`|(?<c>\/\/[^\n]*)` + wordPart, words: wordSet("true false null") },
  yaml: { source: String.raw`(?<c>(?<![\w&])#[^\n]*)|(?<k>^[ \t-]*[\w.\/"'-]+(?=:(?:\s|$)))|(?<s>"(?:\\[^]|[^"\\\n])*"?|'[^'\n]*'?)` + numberPart + wordPart, words: wordSet("true false null yes no on off"), flags: "m" },
  ini: { source: String.raw`(?<c>[#;][^\n]*)|(?<t>^\s*\[[^\]\n]*\]+)|(?<k>^\s*[\w.-]+(?=\s{0,20}=))|(?<s>"(?:\\[^]|[^"\\\n])*"?|'[^'\n]*'?)` + numberPart + wordPart, words: wordSet("true false"), flags: "m" },
  css: { source: String.raw`(?<c>\/\*[^]*?(?:\*\/|$))|(?<s>"[^"\n]*"?|'[^'\n]*'?)|(?<n>#[\da-fA-F]{3,8}\b|-?\d[\d.]*[a-z%]*)|(?<k>[\w-]+(?=\s{0,20}:))|(?<w>[@.#]?[\w-]+)`, words: new Set() },
  markup: { source: String.raw`(?<c><!--[^]*?(?:-->|$))|(?<k><\/?[\w:.-]*|\/?>)|(?<v>[\w:@.-]+(?==["'{]))|(?<s>"[^"]*"?|'[^'<>]*')|(?<w>&\w+;)`, words: new Set() },
  diff: { source: String.raw`(?<t>^(?:diff|index|---|\+\+\+|@@)[^\n]*)|(?<add>^\+[^\n]*)|(?<del>^-[^\n]*)`, words: new Set(), flags: "m" },
  make: { source: String.raw`(?<c>#[^\n]*)|(?<k>^[\w.%\/ -]+(?=:))|(?<v>\$[({][^)}\n]*[)}]?|\$.)|(?<s>"[^"\n]*"?|'[^'\n]*'?)` + wordPart, words: words.none, flags: "m" },
};

const languages = new Map(Object.entries({
  js: "js mjs cjs jsx ts tsx mts cts javascript typescript vue svelte",
  go: "go golang mod", rs: "rs rust",
  c: "c h cc cpp cxx hpp java kt kts swift cs scala dart php m mm proto zig groovy gradle hcl tf objc csharp kotlin",
  py: "py pyi python bzl star", sh: "sh bash zsh fish shell console dockerfile env ps1",
  rb: "rb ruby ex exs elixir gemspec rake pl pm perl r jl julia", lua: "lua hs haskell",
  sql: "sql psql mysql sqlite", json: "json jsonc json5 jsonl ndjson webmanifest ipynb", yaml: "yaml yml",
  ini: "ini toml cfg conf properties editorconfig gitconfig lock", css: "css scss less", markup: "html htm xml svg xhtml plist vue",
  diff: "diff patch", make: "make makefile mk cmake",
}).flatMap(([name, list]) => list.split(" ").map((l) => [l, name])));

// languageOf guesses the language of a file by its name.
function languageOf(path) {
  const name = path.slice(path.search(/[^/\\]*$/)).toLowerCase();
  if (/^(?:makefile|dockerfile)\b/.test(name)) return name.startsWith("m") ? "make" : "sh";
  const dot = name.lastIndexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1);
}

const compiled = new Map();

// coloured returns source text as nodes; without a known language it is plain text.
function coloured(text, language) {
  const out = document.createDocumentFragment();
  text = visible(text);
  const name = languages.get((language ?? "").toLowerCase());
  if (name === undefined || text.length > maxColoured) {
    out.append(text);
    return out;
  }
  const kind = families[name];
  if (!compiled.has(name)) compiled.set(name, new RegExp(kind.source, "gu" + (kind.flags ?? "")));
  let at = 0;
  for (const m of text.matchAll(compiled.get(name))) {
    const mark = markOf(m, kind, text);
    if (mark === "") continue;
    if (m.index > at) out.append(text.slice(at, m.index));
    out.append(el("span." + mark, null, m[0]));
    at = m.index + m[0].length;
  }
  out.append(text.slice(at));
  return out;
}

const marks = { c: "tk-comment", s: "tk-string", n: "tk-number", k: "tk-key", v: "tk-variable", t: "tk-type", add: "tk-add", del: "tk-del" };

function markOf(m, kind, text) {
  for (const [group, mark] of Object.entries(marks)) if (m.groups[group] !== undefined) return mark;
  const word = m.groups.w;
  if (word === undefined) return "";
  if (kind.words.has(kind.fold ? word.toLowerCase() : word)) return "tk-keyword";
  if (text[m.index + m[0].length] === "(") return "tk-call";
  if (/^\p{Lu}[\p{L}\p{N}]*\p{Ll}/u.test(word)) return "tk-type";
  return "";
}

// codeBlock shows source text with a button to copy it.
function codeBlock(text, language) {
  const name = language ?? "";
  return el("div.code", null,
    el("div.code-head", null, el("span", null, visible(name.slice(0, 30))), copyButton("code", () => text)),
    el("pre", { tabindex: "0", "aria-label": name ? `Code, ${visible(name.slice(0, 30))}` : "Code" }, el("code", null, coloured(text, language))));
}
