/** Ollama's streams: JSON lines, for tests of their readers. */

export const ndjson = (chunks: readonly unknown[], end = '\n'): string =>
  chunks.map((chunk) => `${JSON.stringify(chunk)}${end}`).join('');

/** The usage in the last line of a response; Ollama itself leaves out a count of 0. */
export const figures = {
  total_duration: 5_043_500_667,
  load_duration: 5_025_959,
  prompt_eval_count: 26,
  prompt_eval_duration: 325_953_000,
  eval_count: 290,
  eval_duration: 4_709_213_000,
};

export const created_at = '2025-10-26T17:15:24.097767Z';
