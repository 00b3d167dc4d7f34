/** What do operators read? JSON lines on stderr, so that stdout stays for results. No prompt, body, key or DSN in any of them. */
import pino from 'pino';

export type Log = pino.Logger;

/** @param level pino's words, or `silent` */
export const openLog = (level: string): Log =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }));
