/** The sessions that changed since all spans were compared with the ledger, so that the next comparison reads only theirs. */
import type { Db } from '../../core/cassette/contract.ts';

/** Sessions whose spans are to be compared; null: all spans. */
export type Scope = readonly string[] | null;

/** A comparison that is complete: whatever it has not seen belongs to a session that changed at `settled` or later, or is in `open`. */
export type Compared = {
  /** All transactions below this one had ended before the comparison began. */
  settled: string;
  /** When all spans were last compared, in milliseconds since 1970. */
  all_at: number;
  /** Sessions that every comparison includes. */
  open: readonly string[];
};

/** What is compared now. `settled` null: it cannot be remembered, so that the next one is of all spans again. */
export type Comparison = { scope: Scope; settled: string | null; all_at: number };

/** With more sessions than these, comparing all spans is no slower. */
export const MOST_SESSIONS = 200;
/** All spans are compared this often: it mends what was changed from outside, in either database. */
const ALL_EVERY_MS = 6 * 3_600_000;

const SINCE = `
select s.settled_before, c.session_id
  from (select settled_before from svc_v1.session_changes limit 1) s
  left join (select session_id from svc_v1.session_changes
              where changed_by >= $1::xid8 order by changed_by limit ${MOST_SESSIONS + 1}) c on true`;

const NEVER = '0';

export async function sessionsSince(db: Db, compared: Compared | null, now: number): Promise<Comparison> {
  const { rows } = await db.query<{ settled_before: string; session_id: string | null }>(SINCE, [
    compared?.settled ?? NEVER,
  ]);
  const settled = rows[0]?.settled_before ?? null;
  const all: Comparison = { scope: null, settled, all_at: now };
  if (!compared || settled === null || now - compared.all_at >= ALL_EVERY_MS) return all;
  if (BigInt(settled) < BigInt(compared.settled)) return all; // another database: it was restored
  const changed = rows.flatMap(({ session_id }) => session_id ?? []);
  return { scope: widened(changed, compared.open), settled, all_at: compared.all_at };
}

/** The scope with these sessions in it. */
export function widened(scope: Scope, session_ids: readonly string[]): Scope {
  const together = scope && [...new Set([...scope, ...session_ids])];
  return together && together.length > MOST_SESSIONS ? null : together;
}

/** What is remembered of a comparison that is done. @param open sessions that the next one has to include */
export const comparedBy = ({ settled, all_at }: Comparison, open: readonly string[]): Compared | null =>
  settled === null || open.length > MOST_SESSIONS ? null : { settled, open, all_at };
