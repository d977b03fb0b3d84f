// A theme without colours: text passes as it is.

const plain = (s) => s;
export const theme = {
  name: "headless", appearance: "dark", colors: {}, fg: (color, text) => text, bg: (color, text) => text, style: (text) => text, bold: plain, italic: plain, underline: plain, inverse: plain, strikethrough: plain, dim: plain,
  getFgAnsi: () => "", getBgAnsi: () => "", getColorMode: () => "truecolor", getThinkingBorderColor: () => plain, getBashModeBorderColor: () => plain,
};
/** Themes of single components: every part is plain. */
export const plainTheme = () => new Proxy({}, { get: (t, k) => (typeof k === "string" ? plain : undefined) });
