/** A rejection with several reasons: a sentence with the first, and a list of as many as somebody reads. */
import { type AdmissionStep, Rejection } from '../running.ts';

const MOST = 50;

/** `<lead>: <first problem> (and 3 more)` */
export function rejection(step: AdmissionStep, lead: string, problems: readonly string[]): Rejection {
  const distinct = [...new Set(problems)];
  const more = distinct.length > 1 ? ` (and ${distinct.length - 1} more)` : '';
  const left = distinct.length - MOST;
  const shown = left > 0 ? [...distinct.slice(0, MOST), `and ${left} more`] : distinct;
  return new Rejection(step, `${lead}: ${distinct[0] ?? 'for no reason that is known'}${more}`, shown);
}
