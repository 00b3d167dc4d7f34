/** What do operators read? JSON lines on stderr, so that stdout stays for results. No prompt, body, key or DSN in any of them. */
import pino from 'pino';
import { redactLine } from './redaction/json.ts';

export type Logger = pino.Logger;

/** @param level pino's words, or `silent` */
export const openLog = (level: string): Logger =>
  pino(
    {
      ...{ level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      hooks: { streamWrite: redactLine }, // the last step of each line, so that none gets past it: an error's text may quote a URL
    },
    pino.destination({ dest: 2, sync: true }),
  );
