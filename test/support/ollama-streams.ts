/** How does Ollama stream? JSON lines, for tests of their readers. */

export const ndjson = (chunks: readonly unknown[], end = '\n'): string =>
  chunks.map((chunk) => `${JSON.stringify(chunk)}${end}`).join('');

/** The figures of an answer's last line; a count of 0 is left out by Ollama itself. */
export const figures = {
  total_duration: 5_043_500_667,
  load_duration: 5_025_959,
  prompt_eval_count: 26,
  prompt_eval_duration: 325_953_000,
  eval_count: 290,
  eval_duration: 4_709_213_000,
};

export const created_at = '2025-10-26T17:15:24.097767Z';
