/** Where a long text is cut: after so many lines, or so many characters of lines that never end. */

/** The end of what is shown, as an index; the text's length when that is all of it. */
export function cutAt(text: string, most: { lines: number; characters: number }): number {
  let end = 0;
  for (let line = 0; line < most.lines; line++) {
    const next = text.indexOf('\n', end);
    if (next < 0 || next + 1 >= text.length) {
      end = text.length;
      break;
    }
    end = next + 1;
    if (end > most.characters) break;
  }
  if (end <= most.characters || end - most.characters < 80) return end;
  return wellCut(text, most.characters);
}

/** Not between the halves of a surrogate pair. */
export const wellCut = (text: string, end: number): number => {
  const unit = text.charCodeAt(end - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? end - 1 : end;
};

/** How many lines a text has. A line break at its end begins none. */
export function linesIn(text: string, from = 0): number {
  if (from >= text.length) return 0;
  let lines = 1;
  for (let at = text.indexOf('\n', from); at >= 0 && at < text.length - 1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
