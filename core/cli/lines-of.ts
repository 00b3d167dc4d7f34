/** The lines of a response as JSON, as they come. */
import type { IncomingMessage } from 'node:http';
import { parseJson } from '../parse-json.ts';

/** Blank lines are left out. @throws {Error} the connection ends in the middle */
export async function* linesOf(response: IncomingMessage): AsyncGenerator<unknown, void> {
  let pending = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield parseJson(line);
  }
  if (pending !== '') yield parseJson(pending);
}
