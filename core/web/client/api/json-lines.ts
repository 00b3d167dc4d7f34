/** An answer of newline-delimited JSON, read as it comes. */
import { ProblemError } from './problem-error.ts';

/**
 * @param onLines gets the values of the lines that a piece of the body completed, in their order
 * @throws {ProblemError} where the body breaks off
 */
export async function readJsonLines<Line>(response: Response, onLines: (lines: Line[]) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      const lines = (rest + read.value).split('\n');
      rest = lines.pop() ?? '';
      const whole = lines.filter((line) => line !== '');
      if (whole.length > 0) onLines(whole.map((line) => JSON.parse(line) as Line));
    }
    if (rest.trim() !== '') onLines([JSON.parse(rest) as Line]);
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw new ProblemError(0, 'unreached', 'The answer of the service broke off', '');
  }
}
