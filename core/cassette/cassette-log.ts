/** The log of a cassette: its lines go into the service's log under its name, each with a bounded length. */
import type { Logger as OurLog } from '../log.ts';
import { parseJson } from '../parse-json.ts';
import type { Log } from './contract.ts';

const MOST_CHARACTERS = 4_096;

export const cassetteLog = (log: OurLog, cassette: string): Log => {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error'): Log['info'] =>
    (fields, message) =>
      log[level]({ cassette, ...bounded(fields) }, String(message).slice(0, MOST_CHARACTERS));
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};

/** Fields that cannot be serialised, or are too long, are left out: logging must never break a cassette. */
function bounded(fields: unknown): Record<string, unknown> {
  try {
    const text = JSON.stringify(fields ?? {});
    if (text.length > MOST_CHARACTERS) return { fields_left_out: `${text.length} characters` };
    return { fields: parseJson(text) };
  } catch {
    return { fields_left_out: 'they are no JSON' };
  }
}
