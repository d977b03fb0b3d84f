// npm: fast-xml-parser
import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";
const xml = '<?xml version="1.0"?><r a="1"><i id="x">T &amp; é</i><i id="y"><![CDATA[<raw>]]></i><e/></r>';
const o = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "@" }).parse(xml);
console.log(JSON.stringify(o), XMLValidator.validate("<a><b></a>").err);
console.log(new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: "@", format: true }).build({ r: { "@v": 2, li: ["a", "<b>"] } }));
