import yargs from "yargs";
const y = (a) => yargs(a).scriptName("tool").exitProcess(false).locale("en");
console.log(await y(["serve", "--port", "80", "-v", "--no-color", "rest"]).command("serve [dir]", "serves", (b) => b.option("port", { type: "number", alias: "p" }), (a) => console.log("run", a.port, a.dir)).boolean("v").parse());
console.log(y(["--a.b", "1", "--list", "x", "--list", "y"]).array("list").parse());
y([]).option("need", { demandOption: true }).fail((m) => console.log("FAIL", m)).parse();
console.log(await y([]).option("x", { describe: "an x", default: 3 }).wrap(60).getHelp());
