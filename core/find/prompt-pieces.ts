/**
 * Pieces of a system prompt or of a tool's definition, cut at lines that decide so themselves: where sessions have the same prompt but for
 * a date, all other pieces are the same, and are stored once.
 */

export type PromptPiece = { start: number; text: string };

const CHARACTERS = { least: 1_000, most: 8_192 };

/** Together they are the text. */
export function promptPieces(text: string): PromptPiece[] {
  const pieces: PromptPiece[] = [];
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = Math.min(newline < 0 ? text.length : newline + 1, start + CHARACTERS.most);
    const length = end - start;
    if (
      length >= CHARACTERS.most ||
      end === text.length ||
      (length >= CHARACTERS.least && isCut(text.slice(at, end)))
    ) {
      pieces.push({ start, text: text.slice(start, end) });
      start = end;
    }
    at = end;
  }
  return pieces;
}

/** About every fourth line. */
function isCut(line: string): boolean {
  let sum = 0;
  for (let i = 0; i < line.length; i += 1) sum = (Math.imul(sum, 31) + line.charCodeAt(i)) >>> 0;
  return (sum >>> 7) % 4 === 0;
}
