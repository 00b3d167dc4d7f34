/** Verifies a session's log: each turn's bytes against their digests, its columns against its hash, its hash against the next turn. */

import { sliceId } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import { type RawTurnBytes, turnBytes } from '../../db/read/raw-turn-bytes.ts';
import type { ChainedTurn, ChainHead, ChainPage, Tombstone } from '../../db/read/turn-chain.ts';
import type { TurnParts } from '../../db/read/turn-chain-bytes.ts';
import { headersDigest, turnHash } from '../../merkle/turn-chain.ts';
import { BadSlice, type CheckedSlices, notHeaders } from './checked-slices.ts';

/**
 * What does not match, and where. `check`: which check failed. `session_seq` and `raw_turn_id` are null where it is the session's
 * own row.
 */
export type Break = {
  check: 'session' | 'link' | 'bytes' | 'turn' | 'node' | 'call';
  session_seq: number | null;
  raw_turn_id: number | null;
  node_hash: string | null;
  what: string; // a clause: never quotes content
};

export type TurnsVerified = {
  turns: number;
  purged: number; // positions that a tombstone explains
  bytes: number; // of bodies
  head_turn_hash: string | null; // as found
  has_head: boolean; // the wanted hash is in the chain
};

const PAGE = 64;

type HashLink = { session_seq: number; hash: string | null };

/**
 * After a break it continues with what is stored, so that each break is reported once. Turns that come in meanwhile are checked as well.
 * @param head reads the session's row. @param wanted a head that was written down earlier
 */
export async function verifyTurns(
  { execute }: Pick<Database, 'execute'>,
  slices: CheckedSlices,
  head: () => Promise<ChainHead>,
  { wanted, onBreak }: { wanted: string | null; onBreak: (found: Break) => void },
): Promise<TurnsVerified> {
  const sum: TurnsVerified = { turns: 0, purged: 0, bytes: 0, head_turn_hash: null, has_head: false };
  const session = await head();
  const { session_id } = session;
  let row = session;
  let last: HashLink = { session_seq: 0, hash: null };
  for (let more = true; more; ) {
    const page: ChainPage = await execute('turnChain', { session_id, after_seq: last.session_seq, limit: PAGE });
    const parts = await partsOf(execute, page);
    const entries = chainEntries(page);
    for (const { turn, tombstone } of entries) {
      const link = linkOf(turn, tombstone);
      if (link.session_seq !== last.session_seq + 1) {
        const gap = { session_seq: last.session_seq + 1, raw_turn_id: null, node_hash: null };
        onBreak({ check: 'link', ...gap, what: missing(last.session_seq + 1, link.session_seq - 1) });
      }
      const wrong =
        wrongLink(last, turn, tombstone, session) ?? (turn && (await wrongTurn(turn, parts, slices, session, sum)));
      const { session_seq } = link;
      if (wrong) onBreak({ ...wrong, session_seq, raw_turn_id: turn?.raw_turn_id ?? null, node_hash: null });
      if (turn) sum.turns += 1;
      else sum.purged += 1;
      sum.has_head ||= wanted !== null && link.hash === wanted;
      last = link;
    }
    row = page.more ? row : await head();
    more = page.more || (entries.length > 0 && row.turn_count > last.session_seq);
  }
  const what = wrongRow(row, last);
  if (what !== null) onBreak({ check: 'session', session_seq: null, raw_turn_id: null, node_hash: null, what });
  return { ...sum, head_turn_hash: last.hash };
}

function wrongRow({ turn_count, head_turn_hash }: ChainHead, last: HashLink): string | null {
  if (last.session_seq !== turn_count)
    return `the session's row counts ${turn_count} turns, and the last one that stands is ${last.session_seq}`;
  return last.hash === head_turn_hash ? null : "the head in the session's row is not the hash of its last turn";
}

const missing = (from: number, to: number) =>
  from === to
    ? 'this turn is gone, and no tombstone tells why'
    : `the turns up to ${to} are gone, and no tombstone tells why`;

type ChainEntry = { turn: ChainedTurn | null; tombstone: Tombstone | null };

function chainEntries({ turns, tombstones }: ChainPage): ChainEntry[] {
  const bySeq = new Map<number, ChainEntry>();
  for (const tombstone of tombstones) bySeq.set(tombstone.session_seq, { turn: null, tombstone });
  for (const turn of turns) {
    const seq = turn.facts.session_seq;
    bySeq.set(seq, { turn, tombstone: bySeq.get(seq)?.tombstone ?? null });
  }
  return [...bySeq.entries()].sort(([a], [b]) => a - b).map(([, entry]) => entry);
}

const linkOf = (turn: ChainedTurn | null, tombstone: Tombstone | null): HashLink => ({
  session_seq: turn?.facts.session_seq ?? tombstone?.session_seq ?? 0,
  hash: turn?.turn_hash ?? tombstone?.turn_hash ?? null,
});

type Wrong = Pick<Break, 'check' | 'what'>;

/** After a gap there is no hash to compare with: the gap itself has been reported. */
function wrongLink(
  last: HashLink,
  turn: ChainedTurn | null,
  tombstone: Tombstone | null,
  { removing }: Pick<ChainHead, 'removing'>,
): Wrong | null {
  if (turn && tombstone && !removing)
    return { check: 'link', what: 'the turn stands although a tombstone says that it was purged' };
  const seq = turn?.facts.session_seq ?? tombstone?.session_seq;
  const prev = turn ? turn.prev_hash : (tombstone?.prev_hash ?? null);
  if (seq !== last.session_seq + 1 || prev === last.hash) return null;
  const whose = turn ? 'its prev_hash' : "its tombstone's prev_hash";
  if (last.session_seq === 0) return { check: 'link', what: `${whose} names a turn before it, and it is the first` };
  return { check: 'link', what: `${whose} is not the hash of turn ${last.session_seq}` };
}

async function wrongTurn(
  turn: ChainedTurn,
  parts: ReadonlyMap<number, TurnParts>,
  slices: CheckedSlices,
  session: Pick<ChainHead, 'harness_id' | 'harness_session_id'>,
  sum: TurnsVerified,
): Promise<Wrong | null> {
  const { facts, raw_turn_id } = turn;
  const turnParts = parts.get(raw_turn_id);
  if (!turnParts) return { check: 'bytes', what: 'its row went away while it was read' };
  const bytes = await turnBytes(turnParts, slices, notHeaders).catch((error: unknown) => {
    if (error instanceof BadSlice) return error;
    throw error;
  });
  if (bytes instanceof BadSlice) return { check: 'bytes', what: bytes.message };
  sum.bytes += bytes.request.byteLength + (bytes.response?.byteLength ?? 0);
  if (sliceId(bytes.request) !== facts.request_digest)
    return { check: 'bytes', what: 'the bytes of its request do not have its request_digest' };
  if ((bytes.response && sliceId(bytes.response)) !== facts.response_digest)
    return { check: 'bytes', what: 'the bytes of its answer do not have its response_digest' };
  if (hashOf(turn, bytes) !== turn.turn_hash)
    return { check: 'turn', what: 'its columns and headers do not have its turn_hash' };
  if (facts.harness_id !== session.harness_id || facts.harness_session_id !== session.harness_session_id)
    return { check: 'session', what: "the session's row has other names than this turn" };
  return null;
}

/** null: what is stored cannot be hashed at all. */
function hashOf({ prev_hash, facts }: ChainedTurn, bytes: RawTurnBytes): string | null {
  try {
    return turnHash(prev_hash, {
      ...facts,
      request_headers_digest: headersDigest(bytes.request_headers),
      response_headers_digest: headersDigest(bytes.response_headers),
    });
  } catch {
    return null; // a number that JSON does not know, put there by hand
  }
}

async function partsOf(execute: Database['execute'], { turns }: ChainPage): Promise<Map<number, TurnParts>> {
  if (turns.length === 0) return new Map();
  const parts = await execute('turnParts', { raw_turn_ids: turns.map(({ raw_turn_id }) => raw_turn_id) });
  return new Map(parts.map((one) => [one.raw_turn_id, one]));
}
