/**
 * The messages of a Responses socket: which of them ask for a response, which response an event belongs to, and which end one.
 * Read without parsing a whole message, since this happens while it passes and a request may be large.
 */
import { fields, parsed, text } from '../provider/json.ts';
import { membersOf } from './json-members.ts';

/**
 * A client's message that leads to a response. `lane` is its `stream_id`, '' for the lane without a name: the responses of a lane come
 * one after the other, those of several lanes at the same time. A steering message concerns a response under way; the provider may
 * follow it with a response of its own accord.
 */
export type SocketRequest = { kind: 'create' | 'steer'; lane: string; previous_response_id: string };

/** A server's message. */
export type SocketEvent = {
  kind: 'begin' | 'event' | 'error' | 'end';
  lane: string;
  status: number | null; // the HTTP status, where an error has one
  numbered: boolean; // it counts among the events of a response that has begun
  previous_response_id: string; // of a response that begins
};

const REQUEST_KINDS: Record<string, SocketRequest['kind']> = {
  'response.create': 'create',
  'response.append': 'create', // of the first version: more input, which continues from the last response
  'response.steer': 'steer',
};
const END_TYPES = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);

/** null: it asks for no response, or is no JSON object. */
export function socketRequestIn(message: Uint8Array): SocketRequest | null {
  const member = memberReader(message);
  const kind = member && REQUEST_KINDS[text(member('type'))];
  if (!kind) return null;
  return { kind, lane: text(member('stream_id')), previous_response_id: text(member('previous_response_id')) };
}

/** null: it is no event. */
export function eventIn(message: Uint8Array): SocketEvent | null {
  const member = memberReader(message);
  const type = member ? text(member('type')) : '';
  if (!member || type === '') return null;
  const begins = type === 'response.created';
  const status = type === 'error' ? Number(member('status') ?? member('status_code')) : Number.NaN;
  return {
    kind: begins ? 'begin' : type === 'error' ? 'error' : END_TYPES.has(type) ? 'end' : 'event',
    lane: text(member('stream_id')),
    status: status >= 400 && status <= 599 ? status : null,
    numbered: member('sequence_number') !== undefined,
    previous_response_id: begins ? text(fields(member('response', MAX_RESPONSE_BYTES)).previous_response_id) : '',
  };
}

const MAX_MEMBERS = 1_000; // the message holds up all calls while it is read; a request has some twenty
const MAX_MEMBER_BYTES = 2048;
const MAX_RESPONSE_BYTES = 262_144; // it repeats the instructions and tools of its request

/** Reads the value of one of the first top-level members; undefined where there is none, and where it is longer than `maxBytes`. */
function memberReader(message: Uint8Array): ((key: string, maxBytes?: number) => unknown) | null {
  const members = membersOf(message, MAX_MEMBERS);
  if (!members) return null;
  return (key, maxBytes = MAX_MEMBER_BYTES) => {
    const range = members.get(key);
    if (!range || range.end - range.start > maxBytes) return undefined;
    return parsed(Buffer.from(message.buffer, message.byteOffset + range.start, range.end - range.start).toString());
  };
}
