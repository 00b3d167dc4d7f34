/** Long texts in pieces, cut where a line ends as far as one does. */
const PIECE = 8_000;
const LONGEST_LINE = 16_000;

/** Joined by line ends where a piece ends at one, the pieces are the text. */
export function textPieces(text: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST_LINE) {
    const line = text.indexOf('\n', start + PIECE);
    const isNear = line !== -1 && line - start <= LONGEST_LINE;
    const end = isNear ? line : betweenCharacters(text, start + PIECE);
    pieces.push(text.slice(start, end));
    start = isNear ? end + 1 : end;
  }
  pieces.push(text.slice(start));
  return pieces;
}

/** Never within a pair of surrogates. */
const betweenCharacters = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);
