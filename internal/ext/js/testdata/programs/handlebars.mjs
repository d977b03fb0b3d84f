import Handlebars from "handlebars";
Handlebars.registerHelper("up", (s) => s.toUpperCase());
Handlebars.registerPartial("item", "<i>{{name}}{{#if last}}!{{/if}}</i>");
console.log(Handlebars.compile("{{#each list}}{{> item last=@last}}{{@index}} {{/each}}{{up title}} {{{raw}}} {{raw}} {{#unless no}}un{{/unless}}{{#with o}}{{a.b}}{{/with}}")({ list: [{ name: "x" }, { name: "y" }], title: "t", raw: "<b>", o: { a: { b: 7 } } }));
try { Handlebars.compile("{{#if}}")({}); } catch (e) { console.log(e.message.split("\n")[0]); }
