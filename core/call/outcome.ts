/**
 * The outcomes of a request, each decided by what is known at that point, for the proxy's metrics, intake and derivation alike.
 *
 * | outcome | decided | by |
 * | --- | --- | --- |
 * | not_a_turn, unsupported_format, disabled | before the request goes upstream | `outcomeWithoutCopy` |
 * | journal_full | likewise, where the journal takes no copy | the proxy |
 * | over_limit, captured, partial | at the end of the copy, for the proxy's metrics; intake may correct it | `outcomeOfCopy` |
 * | over_limit, crashed, not_a_turn | when its bytes are read: it is counted, and no turn | `outcomeOfNoTurn` |
 * | captured, partial, undecodable | when its bytes are read, at intake as at derivation: it is a turn | `outcomeOfTurn` |
 * | poison | when the database refuses the turn | intake, which stores its bytes aside |
 *
 * A WebSocket is not one request: its losses are counted where its frames are read (proxy/websocket-frames.ts).
 */
import type { Ending, Outcome } from '../model/coverage.ts';
import type { Reply } from '../model/reply.ts';

type Only<T extends Outcome> = T;

/** Why a request gets no copy. `format`: null when it is in none of ours; `requestsTurn`: as far as its method and path show. */
export function outcomeWithoutCopy(
  format: object | null,
  requestsTurn: boolean,
): Only<'not_a_turn' | 'unsupported_format' | 'disabled'> {
  if (format) return 'disabled';
  return requestsTurn ? 'unsupported_format' : 'not_a_turn';
}

/** How a copy ended; nobody has read it yet. */
export function outcomeOfCopy({
  over_limit,
  ending,
  cut,
}: {
  over_limit: boolean;
  ending: Ending;
  cut: 'none' | 'request' | 'response';
}): Only<'over_limit' | 'captured' | 'partial'> {
  if (over_limit) return 'over_limit';
  return ending === 'complete' && cut === 'none' ? 'captured' : 'partial';
}

type CopiedCall = {
  throughProxy: boolean; // what a sender captured itself is a turn, since it says so
  over_limit?: boolean;
  ending: Ending;
  status: number | null;
};

/** Why a request is no turn; null: it is one. `read`: null before its messages are read. */
export function outcomeOfNoTurn(
  { throughProxy, over_limit, ending, status }: CopiedCall,
  requestIsWhole: boolean,
  read: { asks_nothing: boolean } | null,
): Only<'over_limit' | 'crashed' | 'not_a_turn'> | null {
  if (over_limit) return 'over_limit';
  if (!throughProxy) return null;
  if (ending === 'crashed' && status === null && !requestIsWhole) return 'crashed';
  return read?.asks_nothing ? 'not_a_turn' : null;
}

type EndedCall = {
  ending: Ending;
  status: number | null; // null: no response came
  whole: boolean; // both bodies were stored completely
  keep: 'full' | 'metadata';
  unreadable: string | null; // why the request cannot be read
  reply: Reply | null; // null: none, or it cannot be read
  answer_unreadable: string | null; // why the response cannot be read
  streamed: boolean; // as the request wanted it
};

/**
 * `captured`: it is whole and was read. What cannot be read, request or response, is stored all the same. Depends on the bytes and on how well we
 * can read them: a fixed reader may yield another outcome for the same call.
 */
export function outcomeOfTurn(call: EndedCall): Only<'captured' | 'partial' | 'undecodable'> {
  const { ending, status, whole, keep, unreadable, reply, answer_unreadable, streamed } = call;
  const hungUpAtEnd = streamed && ending === 'client_closed' && reply?.complete === true; // after the last event a client may hang up, as Codex does
  if (!(ending === 'complete' || hungUpAtEnd) || !whole || status === null) return 'partial';
  if (keep === 'metadata') return 'captured';
  if (unreadable !== null) return 'undecodable';
  const succeeded = status >= 200 && status < 300;
  if (!succeeded || reply?.complete || NO_CONTENT.includes(status)) return 'captured';
  return answer_unreadable === null ? 'partial' : 'undecodable';
}

/** A response with one of these has no body by its definition: RFC 9110, 15.3.5 and 15.3.6. */
const NO_CONTENT: readonly number[] = [204, 205];
