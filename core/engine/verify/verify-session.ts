/** Verifies that a session is as it was written: its log first, then what was read in it; with the position of each mismatch. */

import type { Reader } from '../../call/reader.ts';
import type { Database } from '../../db/database.ts';
import type { ChainHead } from '../../db/read/turn-chain.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { BadSlice, type CheckedSlices } from './checked-slices.ts';
import { type NodesVerified, verifyNodes } from './verify-nodes.ts';
import { type Break, type TurnsVerified, verifyTurns } from './verify-turns.ts';

export type SessionVerified = TurnsVerified &
  NodesVerified & {
    session_id: string;
    nodes_checked: boolean; // false: the log itself is broken, so that nothing can be compared with it
    breaks: number;
    first_breaks: Break[]; // in order; the log's before those of nodes
  };

export type Verifier = { database: Pick<Database, 'execute'>; reader: Reader; slices: CheckedSlices };

const NAMED_BREAKS = 20;
const ATTEMPTS = 5;

/**
 * Null: there is no such session. What looks broken is verified again when the session has changed meanwhile, since on a server the
 * service may go on.
 * @param head the hash of a last turn, written down earlier
 */
export async function verifySession(
  verifier: Verifier,
  session_id: string,
  head: string | null,
): Promise<SessionVerified | null> {
  const { database } = verifier;
  for (let attempt = 1; ; attempt += 1) {
    const before = await database.execute('chainHead', { session_id });
    if (!before) return null;
    const verified = await verifyOnce(verifier, before, head);
    if (verified.breaks === 0 && (head === null || verified.has_head)) return verified;
    const after = await database.execute('chainHead', { session_id });
    if (attempt === ATTEMPTS || JSON.stringify(after) === JSON.stringify(before)) return verified;
  }
}

async function verifyOnce(verifier: Verifier, before: ChainHead, wanted: string | null): Promise<SessionVerified> {
  const { database, reader, slices } = verifier;
  const { session_id, derive_version, from_scratch, removing } = before;
  const first_breaks: Break[] = [];
  let breaks = 0;
  const onBreak = (found: Break) => {
    breaks += 1;
    if (first_breaks.length < NAMED_BREAKS) first_breaks.push(found);
  };
  const head = async () => (await database.execute('chainHead', { session_id })) ?? before;
  const turns = await verifyTurns(database, slices, head, { wanted, onBreak });
  const outdated = from_scratch || removing || (derive_version !== null && derive_version < DERIVE_VERSION);
  const nodes =
    breaks > 0 ? null : await readable(verifyNodes(database, reader, slices, session_id, { outdated, onBreak }));
  return {
    session_id,
    ...turns,
    ...(nodes ?? { nodes: 0, outdated: 0 }),
    nodes_checked: nodes !== null,
    breaks,
    first_breaks,
  };
}

/** A correction may have brought in a turn whose bytes are broken; that is reported for the session in whose chain it is. */
const readable = (verified: Promise<NodesVerified>): Promise<NodesVerified | null> =>
  verified.catch((error: unknown) => {
    if (error instanceof BadSlice) return null;
    throw error;
  });
