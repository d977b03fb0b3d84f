// npm: @earendil-works/pi-tui
import * as tui from "../node_modules/@earendil-works/pi-tui/dist/index.js";
const plain = (s) => s;
console.log(tui.visibleWidth("a\x1b[31m漢字\x1b[0m👩‍👩‍👧"), JSON.stringify(tui.truncateToWidth("hello wide 漢字 world", 12)), tui.wrapTextWithAnsi("the quick \x1b[1mbrown fox\x1b[0m jumps over", 10).map((l) => JSON.stringify(l)));
console.log(new tui.Text("one two three four five six", 1, 0).render(12));
console.log(new tui.SelectList([{ value: "a", label: "Alpha", description: "first" }, { value: "b", label: "Beta" }], 5, { selectedPrefix: plain, selectedText: plain, description: plain, scrollInfo: plain, noMatch: plain }).render(40));
console.log(tui.matchesKey("\x1b[A", "up"), tui.matchesKey("\x03", "ctrl+c"), tui.fuzzyFilter(["apple", "banana", "grape"], "ap", (x) => x));
