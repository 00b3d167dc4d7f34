/** How is a session read again? From the bytes of its raw turns, by what our formats and prices are now; the new nodes take the old ones' place. */
import { type PackedSlice, packedSlice, sliceId } from '../capture/slice-codec.ts';
import { sliceBody } from '../capture/slices.ts';
import type { Database } from '../db/database.ts';
import { addNodes, type NodesByPlace, type PlacedRow } from '../db/put-nodes.ts';
import type { TurnToRead } from '../db/session-turns.ts';
import { FormatId } from '../model/provider.ts';
import { lastOf } from './previous-call.ts';
import {
  decodedRequest,
  type Preceding,
  type ReadingMemory,
  type ReadTurn,
  readingMemory,
  readTurn,
} from './read-turn.ts';
import type { Reader } from './reader.ts';

const PAGE = 64; // turns

/**
 * Reads all turns of a session; what came in meanwhile is read after them, until there is nothing newer.
 * @returns how many turns were read
 */
export async function rereadSession(database: Database, reader: Reader, session_id: string): Promise<number> {
  const memory = readingMemory(5_000);
  const nodes: NodesByPlace = new Map();
  const calls: PlacedRow[] = [];
  const slices = new Map<string, PackedSlice>();
  const answers = new Map<string, Preceding>(); // by call
  let read_up_to = 0;
  for (;;) {
    const turns = await database.ask('turnsToRead', { session_id, after: read_up_to, limit: PAGE });
    for (const turn of turns) {
      const read = await readAgain(database, reader, turn, memory, answers.get(turn.continues_call_id) ?? null);
      const last = lastOf(read);
      if (last) answers.set(turn.call_id, last);
      addNodes(nodes, { raw_turn_id: turn.raw_turn_id, session_id, nodes: read });
      calls.push({ raw_turn_id: turn.raw_turn_id, session_id, ...read.call });
      for (const { slice_id, bytes } of read.own_slices) {
        if (!slices.has(slice_id)) slices.set(slice_id, packedSlice(slice_id, bytes));
      }
      read_up_to = turn.raw_turn_id;
    }
    if (turns.length === PAGE) continue;
    const reading = { session_id, read_up_to, calls, nodes: [...nodes.values()], slices: [...slices.values()] };
    if (await database.ask('replaceNodes', reading)) return calls.length;
  }
}

async function readAgain(
  database: Database,
  reader: Reader,
  turn: TurnToRead,
  memory: ReadingMemory,
  after: Preceding | null,
): Promise<ReadTurn> {
  const kept = await database.ask('rawTurnBytes', { raw_turn_id: turn.raw_turn_id });
  if (!kept) throw new Error(`Cannot read raw turn ${turn.raw_turn_id} again: it is gone`);
  const { response, request_headers, response_headers } = kept;
  const { body, undecoded } = turn.kept
    ? decodedRequest(kept.request, request_headers)
    : { body: null, undecoded: null };
  const pieces = body ? sliceBody(body) : [];
  const ids = body ? pieces.map(({ start, end }) => sliceId(body.subarray(start, end))) : [];
  const request = body && { body, pieces, ids };
  const answer = response_headers && { bytes: response ?? new Uint8Array(), headers: response_headers };
  const facts = { ...turn, format: FormatId.safeParse(turn.format).data ?? null };
  return readTurn(reader, facts, { request, undecoded, answer }, memory, after);
}
