import * as cheerio from "cheerio";
const $ = cheerio.load('<ul id="l"><li class="a b">One &amp; two</li><li data-x="1">Zwei <b>fett</b></li></ul><p>x<br>y');
$("li").each((i, e) => console.log(i, $(e).text(), $(e).attr("class"), $(e).data("x")));
$("#l").append("<li>neu</li>").find("li:first").addClass("c").removeClass("a");
console.log($.html(), $("li:nth-child(2) > b").parent().index(), $("li:contains('neu')").length);
console.log($.extract({ items: ["li"], bold: "b" }));
