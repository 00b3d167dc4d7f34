/** The report of a verification: lines for a person, one JSON document for a program. Written session by session, however many there are. */
import type { SessionVerified } from '../engine/verify/verify-session.ts';
import type { Break } from '../engine/verify/verify-turns.ts';
import { counted, several, sized } from './units.ts';

export type VerifyTotals = {
  sessions: number;
  broken_sessions: number;
  outdated_sessions: number;
  turns: number;
  purged: number;
  nodes: number;
  bytes: number;
  /** Whether the requested head is in a chain; null: none was requested. */
  has_head: boolean | null;
};

export type VerifyReport = {
  session(verified: SessionVerified): void;
  end(totals: VerifyTotals): void;
};

type ReportOptions = { out: (text: string) => void; single: boolean; head: string | null };

/** Sessions that are in order are shown only when one session was requested. */
export const lines = ({ out, single, head }: ReportOptions): VerifyReport => ({
  session: (verified) => {
    const { session_id, head_turn_hash, first_breaks, breaks, nodes_checked, purged, outdated } = verified;
    const shown = single ? first_breaks : first_breaks.slice(0, 1);
    for (const found of shown) out(`Broken: session ${session_id}${placeOf(found)}: ${found.what}\n`);
    if (breaks > shown.length) out(`Broken: session ${session_id}: ${several(breaks - shown.length, 'place')} more\n`);
    if (!single) return;
    if (breaks > 0 && !nodes_checked) out('Messages were not checked: their turns come first\n');
    if (purged > 0)
      out(`${several(purged, 'turn')} purged, as ${purged === 1 ? 'a tombstone says' : 'tombstones say'}\n`);
    if (outdated > 0) out(`${several(outdated, 'row')} ${OUTDATED}\n`);
    if (head_turn_hash !== null) out(`Head of session ${session_id}: ${head_turn_hash}\n`);
  },
  end: ({ sessions, broken_sessions, outdated_sessions, turns, purged, nodes, bytes, has_head }) => {
    const where = single ? 'this session' : 'any session';
    if (has_head === false) out(`Broken: head ${head} is not in ${where}: the turns from some point on were cut off\n`);
    if (!single && outdated_sessions > 0) out(`${several(outdated_sessions, 'session')} ${OUTDATED}\n`);
    const all = `${several(sessions, 'session')}, ${several(turns, 'turn')}, ${several(nodes, 'message')}, ${sized(bytes)}`;
    const gaps = purged > 0 && !single ? `; ${several(purged, 'turn')} purged, with tombstones` : '';
    const verdict =
      broken_sessions > 0 || has_head === false ? `${counted(broken_sessions)} of them broken` : 'all as written';
    out(`Checked ${all}${gaps}: ${verdict}\n`);
  },
});

const OUTDATED =
  'read otherwise by this version, which is no tampering: POST /v1/admin/derive/run reads the turns again';

function placeOf({ session_seq, raw_turn_id, node_hash }: Break): string {
  const turn = session_seq === null ? '' : `, turn ${session_seq}`;
  const raw =
    raw_turn_id === null ? '' : session_seq === null ? `, raw turn ${raw_turn_id}` : ` (raw turn ${raw_turn_id})`;
  return `${turn}${raw}${node_hash === null ? '' : `, node ${node_hash}`}`;
}

/** `{"sessions": […], "total": {…}}`, one session per line. */
export function jsonDocument({ out }: Pick<ReportOptions, 'out'>): VerifyReport {
  let opened = false;
  const open = () => {
    out(opened ? ',\n' : '{"sessions":[\n');
    opened = true;
  };
  return {
    session: ({ has_head: _, ...verified }) => {
      open();
      out(JSON.stringify(verified));
    },
    end: (total) => {
      if (!opened) out('{"sessions":[');
      out(`\n],"total":${JSON.stringify(total)}}\n`);
    },
  };
}
