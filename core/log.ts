/** The operators' log: JSON lines on stderr, since stdout is for results. No prompt, body, key or DSN in any of them. */
import pino from 'pino';
import { openLogOutput } from './log-output.ts';
import { redactLine } from './redaction/json.ts';

export type Logger = pino.Logger;

const STDERR = 2;

/** @param level one of pino's levels, or `silent` */
export function openLog(level: string): Logger {
  return pino(
    {
      ...{ level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      hooks: { streamWrite: redactLine }, // the last step for each line, so that no line avoids it: an error's text may quote a URL
    },
    openLogOutput(STDERR),
  );
}
