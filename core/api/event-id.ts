/** Ids of events: the reader's position among the changes, as text that comes back in `Last-Event-ID`. */
import { type ChangePosition, EVERYTHING } from '../db/read/session-changes.ts';
import { Refusal } from '../errors.ts';

/** A position among the changes of one `life` of a database; a moved database has another. */
export type EventPosition = {
  life: string;
  place: ChangePosition;
  /** The newest crossing of a budget that the reader has, 0 before the first; null: an id of a build without budgets, or the beginning. */
  crossing: number | null;
};

/** The position before every change, whatever the database. */
const BEGINNING = '0';

const ID =
  /^(\d{1,10}\.\d{1,10})\/([\d:,]+)(?:\/([\d:,]+)\/(\d{1,20})\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?(?:~(\d{1,15}))?$/;
const SNAPSHOT = /^(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20})*)?)$/;
const LARGEST = 2n ** 64n - 1n;

export const eventId = ({ life, place: { seen, round }, crossing }: EventPosition): string =>
  [life, seen, ...(round ? [round.towards, round.changed_by, round.session_id] : [])].join('/') +
  (crossing === null ? '' : `~${crossing}`);

/** `life` is '' for the id of the beginning. @throws {Refusal} bad-request, when `text` is no id of an event */
export function readEventId(text: string): EventPosition {
  if (text === BEGINNING) return { life: '', place: EVERYTHING, crossing: null };
  const [, life, seen, towards, changed_by, session_id, last] = ID.exec(text) ?? [];
  const crossing = last === undefined ? null : Number(last);
  if (life === undefined || seen === undefined || !isSnapshot(seen)) throw unknownId();
  if (towards === undefined || changed_by === undefined || session_id === undefined)
    return { life, place: { seen, round: null }, crossing };
  if (!isSnapshot(towards) || !isTransaction(BigInt(changed_by))) throw unknownId();
  return { life, place: { seen, round: { towards, changed_by, session_id } }, crossing };
}

/** Whether a database whose newest position is `now` can have issued this position. */
export function isKnownPlace(
  { life, place: { seen, round } }: Pick<EventPosition, 'life' | 'place'>,
  now: { life: string; seen: string },
): boolean {
  const last = (snapshot: string) => BigInt(SNAPSHOT.exec(snapshot)?.[2] ?? 0);
  return (life === now.life || life === '') && last(round?.towards ?? seen) <= last(now.seen);
}

const unknownId = () => new Refusal('bad-request', 'Cannot resume: the id is none that an event had');

/** As strict as PostgreSQL's own reader, so that it never gets an invalid one. */
function isSnapshot(text: string): boolean {
  const [, least, most, open] = SNAPSHOT.exec(text) ?? [];
  if (least === undefined || most === undefined || open === undefined) return false;
  const [xmin, xmax] = [BigInt(least), BigInt(most)];
  if (!isTransaction(xmin) || !isTransaction(xmax) || xmin > xmax) return false;
  const running = open === '' ? [] : open.split(',').map(BigInt);
  return running.every((xid, i) => xid >= (i === 0 ? xmin : (running[i - 1] ?? xmin)) && xid >= xmin && xid < xmax);
}

/** Transaction ids have 64 bits; those whose lower half is zero do not occur. */
const isTransaction = (xid: bigint): boolean => xid <= LARGEST && xid % 2n ** 32n !== 0n;
