/** The operators' log: JSON lines on stderr, since stdout is for results. No prompt, body, key or DSN in any of them. */
import pino from 'pino';
import { redactLine } from './redaction/json.ts';

export type Logger = pino.Logger;

/** @param level one of pino's levels, or `silent` */
export function openLog(level: string): Logger {
  const stderr = pino.destination({ dest: 2, sync: true });
  stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EIO') throw error;
    // The terminal was closed: what is under way goes on without a log. Pino does the same itself where a pipe was closed.
    Object.assign(stderr, { write: () => true, flushSync: () => {} });
  });
  return pino(
    {
      ...{ level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      hooks: { streamWrite: redactLine }, // the last step for each line, so that no line avoids it: an error's text may quote a URL
    },
    stderr,
  );
}
