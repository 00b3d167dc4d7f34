/**
 * Which turns pass over a Responses socket? One for each response, with a copy of its own: the message that asks for it is the request,
 * the events of the response are the answer, a line for each.
 */
import { eventIn, type SocketEvent, socketRequestIn } from '../core/capture/websocket-messages.ts';
import type { Ending } from '../core/model/coverage.ts';
import type { CallObserver } from './forward.ts';
import type { Side } from './websocket-frames.ts';

export type SocketTurns = {
  message(side: Side, message: Buffer, at: string): void;
  /** Of all turns that are under way. */
  end(ending: Ending): void;
};

type Turn = { witness: CallObserver; lane: string; answered: boolean; begun: boolean };

const MAX_OPEN = 256; // an upstream works on sixteen at a time; of more that wait for an answer the oldest is given up
const MAX_STEERS = 16;
const MAX_STEER_BYTES = 262_144;
const NOTHING = Buffer.alloc(0);
const LINE_END = Buffer.from('\n');

/**
 * @param rawHeaders of the upstream's answer to the upgrade
 * @param open begins the copy of a turn whose request has so many bytes and began to pass at that instant
 */
export function socketTurns(
  rawHeaders: readonly string[],
  open: (requestedAt: string, requestBytes: number) => CallObserver,
): SocketTurns {
  const answerHeaders = [...withoutContent(rawHeaders), 'Content-Type', 'application/x-ndjson'];
  const turns = new Set<Turn>(); // under way, in the order of their requests
  const steers = new Map<string, { message: Buffer; at: string }>(); // the newest to each response

  const begin = (lane: string, message: Buffer, at: string): Turn => {
    const [oldest] = turns;
    if (oldest && turns.size >= MAX_OPEN) close(oldest, 'overflow');
    const witness = open(at, message.length);
    if (message.length > 0) witness.asked(message);
    const turn = { witness, lane, answered: false, begun: false };
    turns.add(turn);
    return turn;
  };
  const close = (turn: Turn, ending: Ending) => {
    turns.delete(turn);
    turn.witness.ended(ending, true);
  };

  const asked = (message: Buffer, at: string) => {
    const ask = socketRequestIn(message);
    if (ask?.kind === 'create') begin(ask.lane, message, at);
    if (ask?.kind !== 'steer' || message.length > MAX_STEER_BYTES) return;
    const [oldest] = steers.keys();
    if (oldest !== undefined && steers.size >= MAX_STEERS) steers.delete(oldest);
    steers.set(ask.previous_response_id, { message, at });
  };

  const told = (message: Buffer, at: string) => {
    const event = eventIn(message);
    const turn = event && (turnOf(event) ?? begunAlone(event, at));
    if (!turn) return; // of the connection, or of nothing that was asked for here
    const ends = event.kind === 'end' || event.kind === 'error';
    const begins = event.kind === 'begin' || event.numbered;
    if (!turn.answered && (ends || begins)) {
      turn.answered = true; // not by what is said of limits before
      turn.witness.answered(event.status ?? 200, answerHeaders);
    }
    turn.begun ||= begins;
    turn.witness.replied(lineOf(message));
    if (ends) close(turn, 'complete');
  };

  /** Of a lane's turns the first, which the others wait for; what has begun is begun and refused no more. */
  const turnOf = ({ kind, lane, numbered }: SocketEvent): Turn | null => {
    const open = [...turns];
    const inLane = open.filter((turn) => turn.lane === lane);
    const row = inLane.length > 0 || lane !== '' ? inLane : open; // not every upstream repeats the lane
    const [first] = row;
    if (!first?.begun || (kind !== 'begin' && (kind !== 'error' || numbered))) return first ?? null;
    const waiting = row.find(({ begun }) => !begun);
    if (waiting && kind === 'begin') close(first, 'complete'); // its last event never came
    return waiting ?? first;
  };

  /** A response that the provider makes of its own accord, as it does of what it was told while it gave the one before. */
  const begunAlone = ({ kind, lane, previous_response_id }: SocketEvent, at: string): Turn | null => {
    if (kind !== 'begin') return null;
    const steer = steers.get(previous_response_id);
    steers.delete(previous_response_id);
    return begin(lane, steer?.message ?? NOTHING, steer?.at ?? at);
  };

  return {
    message: (side, message, at) => (side === 'client' ? asked : told)(message, at),
    end(ending) {
      for (const turn of turns) close(turn, ending);
    },
  };
}

/** Line ends within a JSON text stand between its values, where they are white space like any other. */
function lineOf(message: Buffer): Buffer {
  const line = Buffer.concat([message, LINE_END]);
  for (const end of [0x0a, 0x0d]) {
    for (let at = line.indexOf(end); at !== -1 && at < message.length; at = line.indexOf(end, at)) line[at] = 0x20;
  }
  return line;
}

/** An upgrade's answer has no content; what is said of any is not true of the events. */
function withoutContent(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (!/^content-/i.test(name)) kept.push(name, value);
  }
  return kept;
}
