/**
 * The turns of a Responses socket: one for each response, with a copy of its own. The message that requests the response is the request
 * body; the events of the response are the response body, a line for each.
 */
import { eventIn, type SocketEvent, socketRequestIn } from '../core/capture/websocket-messages.ts';
import type { Ending } from '../core/model/coverage.ts';
import type { CallObserver } from './forward.ts';
import type { Side } from './websocket-frames.ts';

export type SocketTurns = {
  message(side: Side, message: Buffer, at: string): void;
  /** Ends all turns that are under way. */
  end(ending: Ending): void;
  /** Whether no turn is under way. */
  isIdle(): boolean;
};

type Turn = { observer: CallObserver; lane: string; responded: boolean; begun: boolean };

const MAX_OPEN = 256; // an upstream works on sixteen at a time; when more wait for a response, the oldest is given up
const MAX_STEERS = 16;
const MAX_STEER_BYTES = 262_144;
const NOTHING = Buffer.alloc(0);
const LINE_END = Buffer.from('\n');

/**
 * @param rawHeaders of the upstream's response to the upgrade
 * @param open begins the copy of a turn, given the instant at which its request began to pass and the bytes of that request
 */
export function socketTurns(
  rawHeaders: readonly string[],
  open: (requestedAt: string, requestBytes: number) => CallObserver,
): SocketTurns {
  const responseHeaders = [...withoutContent(rawHeaders), 'Content-Type', 'application/x-ndjson'];
  const turns = new Set<Turn>(); // under way, in the order of their requests
  const steers = new Map<string, { message: Buffer; at: string }>(); // the newest for each response id

  const begin = (lane: string, message: Buffer, at: string): Turn => {
    const [oldest] = turns;
    if (oldest && turns.size >= MAX_OPEN) close(oldest, 'overflow');
    const observer = open(at, message.length);
    if (message.length > 0) observer.requestBytes(message);
    const turn = { observer, lane, responded: false, begun: false };
    turns.add(turn);
    return turn;
  };
  const close = (turn: Turn, ending: Ending) => {
    turns.delete(turn);
    turn.observer.ended(ending, true);
  };

  const onRequest = (message: Buffer, at: string) => {
    const request = socketRequestIn(message);
    if (request?.kind === 'create') begin(request.lane, message, at);
    if (request?.kind !== 'steer' || message.length > MAX_STEER_BYTES) return;
    const [oldest] = steers.keys();
    if (oldest !== undefined && steers.size >= MAX_STEERS) steers.delete(oldest);
    steers.set(request.previous_response_id, { message, at });
  };

  const onEvent = (message: Buffer, at: string) => {
    const event = eventIn(message);
    const turn = event && (turnOf(event) ?? begunAlone(event, at));
    if (!turn) return; // an event of the connection, or of a response that was not requested here
    const ends = event.kind === 'end' || event.kind === 'error';
    const begins = event.kind === 'begin' || event.numbered;
    if (!turn.responded && (ends || begins)) {
      turn.responded = true; // events about rate limits that come earlier are not its beginning
      turn.observer.responseHead(event.status ?? 200, responseHeaders);
    }
    turn.begun ||= begins;
    turn.observer.responseBytes(lineOf(message));
    if (ends) close(turn, 'complete');
  };

  /** The first turn of a lane, which the others wait for. A turn that has begun cannot begin or be refused again: the next one is meant. */
  const turnOf = ({ kind, lane, numbered }: SocketEvent): Turn | null => {
    const open = [...turns];
    const inLane = open.filter((turn) => turn.lane === lane);
    const candidates = inLane.length > 0 || lane !== '' ? inLane : open; // not every upstream repeats the lane
    const [first] = candidates;
    if (!first?.begun || (kind !== 'begin' && (kind !== 'error' || numbered))) return first ?? null;
    const waiting = candidates.find(({ begun }) => !begun);
    if (waiting && kind === 'begin') close(first, 'complete'); // its last event never came
    return waiting ?? first;
  };

  /** A response that the provider begins without a request of its own, such as to a message that steered the response before. */
  const begunAlone = ({ kind, lane, previous_response_id }: SocketEvent, at: string): Turn | null => {
    if (kind !== 'begin') return null;
    const steer = steers.get(previous_response_id);
    steers.delete(previous_response_id);
    return begin(lane, steer?.message ?? NOTHING, steer?.at ?? at);
  };

  return {
    message: (side, message, at) => (side === 'client' ? onRequest : onEvent)(message, at),
    end(ending) {
      for (const turn of turns) close(turn, ending);
    },
    isIdle: () => turns.size === 0,
  };
}

/** Line ends within a JSON text are white space between its values, so each is replaced by a blank. */
function lineOf(message: Buffer): Buffer {
  const line = Buffer.concat([message, LINE_END]);
  for (const end of [0x0a, 0x0d]) {
    for (let at = line.indexOf(end); at !== -1 && at < message.length; at = line.indexOf(end, at)) line[at] = 0x20;
  }
  return line;
}

/** Without the headers about content: the response to an upgrade has none, and they are not true of the events. */
function withoutContent(rawHeaders: readonly string[]): string[] {
  const passed: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (!/^content-/i.test(name)) passed.push(name, value);
  }
  return passed;
}
