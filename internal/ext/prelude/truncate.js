// How much of a text tools show.
import { Buffer } from "../node/buffer.js";

export const DEFAULT_MAX_LINES = 2000, DEFAULT_MAX_BYTES = 50 * 1024, GREP_MAX_LINE_LENGTH = 500;
export const byteLength = (s) => Buffer.byteLength(s);
export const formatSize = (n) => (n < 1024 ? `${n}B` : n < 1024 * 1024 ? `${(n / 1024).toFixed(1)}KB` : `${(n / 1024 / 1024).toFixed(1)}MB`);

/** The first lines of a text, or the last ones (tail), within both limits. */
export function truncate(text, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = {}, tail) {
  const lines = text.split("\n");
  const totalBytes = byteLength(text);
  const base = { totalLines: lines.length, totalBytes, maxLines, maxBytes, lastLinePartial: false, firstLineExceedsLimit: false };
  if (lines.length <= maxLines && totalBytes <= maxBytes) return { content: text, truncated: false, truncatedBy: null, ...base, outputLines: lines.length, outputBytes: totalBytes };
  if (!tail && byteLength(lines[0]) > maxBytes) return { content: "", truncated: true, truncatedBy: "bytes", ...base, outputLines: 0, outputBytes: 0, firstLineExceedsLimit: true };
  const out = [];
  let n = 0, by = "lines", partial = false;
  for (let i = 0; i < lines.length && out.length < maxLines; i++) {
    const l = lines[tail ? lines.length - 1 - i : i];
    const size = byteLength(l) + (out.length ? 1 : 0);
    if (n + size > maxBytes) {
      by = "bytes";
      if (tail && !out.length) { const b = Buffer.from(l); let from = b.length - maxBytes; while (from < b.length && (b[from] & 0xc0) === 0x80) from++; const end = b.toString("utf8", from); out.push(end); n = byteLength(end); partial = true; }
      break;
    }
    out.push(l);
    n += size;
  }
  if (tail) out.reverse();
  if (out.length >= maxLines && n <= maxBytes) by = "lines";
  const content = out.join("\n");
  return { content, truncated: true, truncatedBy: by, ...base, outputLines: out.length, outputBytes: byteLength(content), lastLinePartial: partial };
}
