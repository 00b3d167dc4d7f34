/** Reads a session again from the bytes of its raw turns, with today's formats and prices; the new nodes replace the old ones. */

import { messageSlices } from '../../call/complete-turn.ts';
import { type ReadingMemory, readingMemory } from '../../call/memory.ts';
import { cutLike, type LatestCut, noRequest, openRequest } from '../../call/open-request.ts';
import { type ContinuedAnswer, lastOf } from '../../call/previous-call.ts';
import { type ReadCall, readCall } from '../../call/read-call.ts';
import type { Reader } from '../../call/reader.ts';
import { type PackedSlice, packedSlice, sliceId } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import type { TurnToRead } from '../../db/derive/session-turns.ts';
import { addNodes, type NodesByPlace, type PlacedRow } from '../../db/store/put-nodes.ts';
import { FormatId } from '../../provider/formats.ts';
import { openStoredSlices, type SliceBytes } from '../cached-slices.ts';
import { type PageBytes, turnsInOrder } from '../turns-in-order.ts';
import { openYielder } from '../yielder.ts';

const PAGE = 64; // turns

/** Where the bytes are read, and the error for a slice that should be a list of headers and is none. */
export type SliceSource = { slices: SliceBytes; notHeaders?: (slice_id: string) => Error };

/**
 * Reads all turns of a session; what came in meanwhile is read after them, until there is nothing newer. Where a purge or a
 * correction has happened meanwhile, reading begins again at the first turn.
 * @returns how many turns were read
 */
export async function rereadSession(
  database: Pick<Database, 'execute'>,
  reader: Reader,
  session_id: string,
  source: SliceSource = { slices: openStoredSlices(database) },
): Promise<number> {
  for (;;) {
    const before = await changesOf(database, session_id);
    try {
      return await reread(database, reader, session_id, before, source);
    } catch (error) {
      const now = await changesOf(database, session_id);
      if (now.purges === before.purges && now.corrections === before.corrections) throw error;
    }
  }
}

type ChangeCounts = { purges: string; corrections: number };

const changesOf = async (database: Pick<Database, 'execute'>, session_id: string): Promise<ChangeCounts> => ({
  purges: (await database.execute('knownSlices', { ids: [] })).purges,
  corrections: await database.execute('lastCorrection', { session_id }),
});

async function reread(
  database: Pick<Database, 'execute'>,
  reader: Reader,
  session_id: string,
  before: ChangeCounts,
  { slices, notHeaders }: SliceSource,
): Promise<number> {
  const memory = rereadMemory(reader);
  const pageBytes = (turns: readonly TurnToRead[]) => turnsInOrder(database, turns, slices, notHeaders);
  const rereadTurn = async (turn: TurnToRead, after: ContinuedAnswer | null) =>
    readAgain(memory, turn, await pageBytes([turn]), after);
  const reading = openReading(session_id);
  const yieldThread = openYielder();
  let read_up_to = 0;
  for (;;) {
    const turns = await database.execute('turnsToRead', { session_id, after: read_up_to, limit: PAGE });
    const bytesOf = await pageBytes(turns);
    for (const turn of turns) {
      const after = reading.answersByCall.get(turn.continues_call_id) ?? null;
      const read = await readAgain(memory, turn, bytesOf, after);
      const { previous_response_id, item_reference } = read.call;
      const waits = item_reference !== '' || (previous_response_id !== '' && after === null);
      if (waits) reading.waiting.push({ turn, read });
      else add(reading, turn, read);
      read_up_to = turn.raw_turn_id;
      await yieldThread(); // most turns need no query, which would do so
    }
    if (turns.length === PAGE) continue;
    const { calls, nodes, slices } = await settled(reading, rereadTurn);
    const found = { calls, nodes: [...nodes.values()], slices: [...slices.values()] };
    const rows = { session_id, read_up_to, ...found, ...before };
    if (await database.execute('replaceNodes', rows)) return calls.length;
  }
}

/** What is remembered of a session while its turns are read. `latest`: the request before, which the next is likely to begin like. */
export type RereadMemory = { reader: Reader; readings: ReadingMemory; latest: LatestCut | null };

export const rereadMemory = (reader: Reader): RereadMemory => ({
  reader,
  readings: readingMemory(5_000),
  latest: null,
});

/** What has been read so far. `waiting` are calls that name an answer, or an item of one, which was not known when they were read. */
type Reading = {
  session_id: string;
  nodes: NodesByPlace;
  calls: PlacedRow[];
  slices: Map<string, PackedSlice>;
  answersByCall: Map<string, ContinuedAnswer>;
  answersById: Map<string, ContinuedAnswer>; // by the provider's id of the answer, and of each of its items
  waiting: Waiting[];
};
type Waiting = { turn: TurnToRead; read: ReadCall };

const openReading = (session_id: string): Reading => ({
  ...{ session_id, nodes: new Map(), calls: [], slices: new Map() },
  ...{ answersByCall: new Map(), answersById: new Map(), waiting: [] },
});

function add(
  { session_id, nodes, calls, slices, answersByCall, answersById }: Reading,
  turn: TurnToRead,
  read: ReadCall,
): void {
  const { raw_turn_id, call_id } = turn;
  const last = lastOf(read);
  if (last) answersByCall.set(call_id, last);
  const { response_id, item_ids } = read.call;
  if (last) for (const id of [response_id, ...item_ids]) if (id !== '') answersById.set(id, last);
  addNodes(nodes, { raw_turn_id, session_id, nodes: read });
  calls.push({ raw_turn_id, session_id, ...read.call });
  for (const { slice_id, bytes } of read.own_slices) {
    if (!slices.has(slice_id)) slices.set(slice_id, packedSlice(slice_id, bytes));
  }
}

/**
 * The reading, completed with the waiting calls: an answer may have been stored after the calls that continue it, and then these are
 * read once more, as its children. A call that names an unknown answer has no parent, as long as nothing newer comes.
 */
async function settled(
  reading: Reading,
  rereadTurn: (turn: TurnToRead, after: ContinuedAnswer) => Promise<ReadCall>,
): Promise<Reading> {
  const whole: Reading = {
    ...reading,
    nodes: new Map(reading.nodes),
    calls: [...reading.calls],
    slices: new Map(reading.slices),
    answersByCall: new Map(reading.answersByCall),
    answersById: new Map(reading.answersById),
  };
  const answerFor = ({ turn, read: { call } }: Waiting) =>
    call.item_reference !== ''
      ? whole.answersById.get(call.item_reference)
      : (whole.answersByCall.get(turn.continues_call_id) ?? whole.answersById.get(call.previous_response_id));
  for (let waiting = reading.waiting; waiting.length > 0; ) {
    const next = waiting.find((one) => answerFor(one)) ?? waiting[0];
    if (!next) break;
    // a call that refers to an answer which nobody knows goes on from an older one
    const after = answerFor(next) ?? whole.answersByCall.get(next.turn.continues_call_id);
    add(whole, next.turn, after ? await rereadTurn(next.turn, after) : next.read);
    waiting = waiting.filter((one) => one !== next);
  }
  return whole;
}

/** `own_slices`: all that the turn's nodes may name and its recipe does not, including the messages of a body under a content coding. */
export async function readAgain(
  memory: RereadMemory,
  turn: TurnToRead,
  bytesOf: PageBytes,
  after: ContinuedAnswer | null,
): Promise<ReadCall> {
  const { reader, readings } = memory;
  const stored = await bytesOf(turn.raw_turn_id);
  if (!stored) throw new Error(`Cannot read raw turn ${turn.raw_turn_id} again: it is gone`);
  const { response, request_headers, response_headers } = stored;
  const format = FormatId.safeParse(turn.format).data ?? null;
  const request = turn.kept
    ? openRequest(
        format && reader.formatById(format),
        { bytes: stored.request, headers: request_headers, url: turn.url },
        (body) => {
          memory.latest = cutLike(body, memory.latest);
          return memory.latest;
        },
      )
    : noRequest;
  const bytes = response ?? new Uint8Array();
  const answer = response_headers && { bytes, slice_id: sliceId(bytes), headers: response_headers };
  const read = readCall(reader, { ...turn, format }, { request, answer }, readings, after);
  const { cut } = request;
  if (!cut || cut.body === stored.request) return read;
  return { ...read, own_slices: [...read.own_slices, ...messageSlices(cut)] };
}
