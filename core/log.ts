/** The operators' log: JSON lines on stderr, since stdout is for results. No prompt, body, key or DSN in any of them. */
import pino from 'pino';
import { redactLine } from './redaction/json.ts';

export type Logger = pino.Logger;

/** @param level one of pino's levels, or `silent` */
export const openLog = (level: string): Logger =>
  pino(
    {
      ...{ level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      hooks: { streamWrite: redactLine }, // the last step for each line, so that no line avoids it: an error's text may quote a URL
    },
    pino.destination({ dest: 2, sync: true }),
  );
