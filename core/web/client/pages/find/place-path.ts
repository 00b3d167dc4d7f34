/** The page that shows a place of the record, and what the id is in words. */
import type { Place } from '../../../../model/place.ts';

export const PLACE_WORDS: Readonly<Record<Place['kind'], string>> = {
  session: 'a session',
  harness_session: "a harness's id of a session",
  trace: 'a prompt',
  span: 'a step',
  raw_turn: 'a recorded call',
  response: "a provider's id of an answer",
  tool_call: "a provider's id of a tool call",
  svc_proxy_request: 'a request that passed the proxy',
  request: 'an ingested request',
};

export function placePath({ session_id, trace_id, span_id, raw_turn_id, kind }: Place): string {
  if (kind === 'raw_turn' && raw_turn_id !== undefined) return `/sessions/${session_id}/calls/${raw_turn_id}/bytes`;
  if (trace_id !== undefined && span_id !== undefined) return `/spans/${trace_id}/${span_id}`;
  if (raw_turn_id !== undefined) return `/sessions/${session_id}/calls/${raw_turn_id}/bytes`;
  return trace_id === undefined ? `/sessions/${session_id}` : `/sessions/${session_id}?trace=${trace_id}`;
}

/** Whether a text may be an id of some kind: one word, with a digit in it. */
export const mayBeId = (text: string): boolean => /^\S{1,512}$/.test(text) && /\d/.test(text);

const WORD = /[\p{Alphabetic}0-9]+/gu;
const MOST_WORDS = 16;

/** As the API reads words: it refuses a text without one, and takes no more than this many. */
export const wordsIn = (text: string): string => [...new Set(text.match(WORD))].slice(0, MOST_WORDS).join(' ');
