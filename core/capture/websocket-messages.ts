/**
 * What do the messages of a Responses socket say of its turns? Which of them ask for a response, whose an event is, and which end one.
 * Found without parsing a message, since this is asked while it passes and a request may be large.
 */
import { fields, parsed, text } from '../provider/json.ts';
import { membersOf } from './json-members.ts';

/**
 * A client's message that leads to a response. `lane` is its `stream_id`, '' for the lane without a name: the responses of a lane come
 * one after the other, those of several at the same time. A steering message is about a response under way; the provider may go on from
 * it with a response of its own accord.
 */
export type SocketRequest = { kind: 'create' | 'steer'; lane: string; previous_response_id: string };

/** A server's message. */
export type SocketEvent = {
  kind: 'begin' | 'event' | 'error' | 'end';
  lane: string;
  status: number | null; // HTTP's, where an error tells it
  numbered: boolean; // it counts among the events of a response that has begun
  previous_response_id: string; // of a response that begins
};

const ASKS: Record<string, SocketRequest['kind']> = {
  'response.create': 'create',
  'response.append': 'create', // of the first version: more input, which goes on from what was answered last
  'response.steer': 'steer',
};
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);

/** null: it asks for no response, or is no JSON object. */
export function socketRequestIn(message: Uint8Array): SocketRequest | null {
  const told = toldIn(message);
  const kind = told && ASKS[text(told('type'))];
  if (!kind) return null;
  return { kind, lane: text(told('stream_id')), previous_response_id: text(told('previous_response_id')) };
}

/** null: it is no event. */
export function eventIn(message: Uint8Array): SocketEvent | null {
  const told = toldIn(message);
  const type = told ? text(told('type')) : '';
  if (!told || type === '') return null;
  const begins = type === 'response.created';
  const status = type === 'error' ? Number(told('status') ?? told('status_code')) : Number.NaN;
  return {
    kind: begins ? 'begin' : type === 'error' ? 'error' : ENDS.has(type) ? 'end' : 'event',
    lane: text(told('stream_id')),
    status: status >= 400 && status <= 599 ? status : null,
    numbered: told('sequence_number') !== undefined,
    previous_response_id: begins ? text(fields(told('response', MAX_BEGUN_BYTES)).previous_response_id) : '',
  };
}

const MAX_WORD_BYTES = 2048;
const MAX_BEGUN_BYTES = 262_144; // it repeats the instructions and tools of its request

/** The value of a top-level member; undefined where there is none, and where it is longer than what is looked for. */
function toldIn(message: Uint8Array): ((key: string, most?: number) => unknown) | null {
  const members = membersOf(message);
  if (!members) return null;
  return (key, most = MAX_WORD_BYTES) => {
    const range = members.get(key);
    if (!range || range.end - range.start > most) return undefined;
    return parsed(Buffer.from(message.buffer, message.byteOffset + range.start, range.end - range.start).toString());
  };
}
