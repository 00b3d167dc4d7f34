/** How do nodes come back that were thrown away? Raw turns are read again, and give what they gave when they came in. */
import { packedSlice, sliceId } from '../capture/slice-codec.ts';
import { sliceBody } from '../capture/slices.ts';
import type { Database } from '../db/database.ts';
import type { PlacedCall } from '../db/put-nodes.ts';
import type { UnreadTurn } from '../db/session-turns.ts';
import { decodedRequest, type ReadingMemory, type ReadTurn, readingMemory, readTurn } from './read-turn.ts';

const PAGE = 64; // turns

/** Reads the session's turns that have no call. @returns how many */
export async function restoreNodes(database: Database, session_id: string): Promise<number> {
  const memory = readingMemory(5_000);
  let restored = 0;
  for (let after = 0; ; ) {
    const turns = await database.ask('unreadTurns', { session_id, after, limit: PAGE });
    const calls: PlacedCall[] = [];
    const slices: ReadTurn['own_slices'] = [];
    for (const turn of turns) {
      const read = await readAgain(database, turn, memory);
      const { own_slices, reply: _r, unreadable: _u, answer_unreadable: _a, ...nodes } = read;
      calls.push({ raw_turn_id: turn.raw_turn_id, session_id, nodes });
      slices.push(...own_slices);
      after = turn.raw_turn_id;
    }
    if (calls.length > 0) {
      const packed = slices.map(({ slice_id, bytes }) => packedSlice(slice_id, bytes));
      await database.ask('putNodes', { calls, slices: packed });
    }
    restored += calls.length;
    if (turns.length < PAGE) return restored;
  }
}

async function readAgain(database: Database, turn: UnreadTurn, memory: ReadingMemory): Promise<ReadTurn> {
  const kept = await database.ask('rawTurnBytes', { raw_turn_id: turn.raw_turn_id });
  if (!kept) throw new Error(`Cannot read raw turn ${turn.raw_turn_id} again: it is gone`);
  const { request, response, request_headers, response_headers } = kept;
  const { body, undecoded } = decodedRequest(request, request_headers);
  const pieces = body ? sliceBody(body) : [];
  const ids = body ? pieces.map(({ start, end }) => sliceId(body.subarray(start, end))) : [];
  const cut = body && { body, pieces, ids };
  const answer = response_headers && { bytes: response ?? new Uint8Array(), headers: response_headers };
  return readTurn(turn, cut, answer, memory, undecoded);
}
