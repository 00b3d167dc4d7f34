/** Words in an order that a seed decides: as compressible as prose and code are, and different for each seed. */

const WORDS =
  'the a file test build of and in returns error value when then which type module import function state call reads writes data row'.split(
    ' ',
  );

export function prose(bytes: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  let text = '';
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${WORDS[(state >>> 8) % WORDS.length]}${state % 11 === 0 ? `_${(state >>> 4) % 9973}` : ''} `;
  }
  return text;
}
