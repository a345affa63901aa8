import { printable } from '../../job/printable.js';
import { renderTable } from '../../jobd/jobctl/table.js';

const CUT = '…';
/** Emoji and the scripts of East Asia. */
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{20000}-\u{3fffd}]/u;

/** A line for each row, whatever is in its cells. Lines that are longer than `width` are cut. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const lines = renderTable(
    columns,
    rows.map((row) => row.map(printable)),
  ).split('\n');
  return lines.map((line) => cutTo(line.trimEnd(), width));
}

/** Leaves out what is beyond `width` columns, in which some characters need two. */
export function cutTo(text: string, width: number): string {
  let used = 0;
  let kept = '';
  for (const char of text) {
    used += WIDE.test(char) ? 2 : 1;
    if (used > width) return `${kept}${CUT}`;
    if (used < width) kept += char;
  }
  return text;
}
