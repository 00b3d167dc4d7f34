/** Reads a stream to its end. Not by `for await`, for which Node loads more than the status line itself. */
import type { Readable } from 'node:stream';

const MOST_CHARACTERS = 1_048_576;

/** Its UTF-8 text. A stream of more than a million characters is cut off. @throws what the stream failed with */
export const textOf = (stream: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > MOST_CHARACTERS) stream.destroy();
    });
    stream.on('error', reject);
    stream.on('close', () => resolve(text));
    stream.on('end', () => resolve(text));
  });
