/** The outcome of a call. `captured`: it is whole and was read. A request that cannot be read is stored all the same. */
import type { Ending, Outcome } from '../model/coverage.ts';
import type { Reply } from '../model/reply.ts';

type EndedCall = {
  ending: Ending;
  status: number | null; // null: no response came
  whole: boolean; // both bodies were stored completely
  keep: 'full' | 'metadata';
  unreadable: string | null; // why the request cannot be read
  reply: Reply | null; // null: none, or it cannot be read
  streamed: boolean; // as the request wanted it
};

/** Depends on the bytes and on how well we can read them: a fixed reader may yield another outcome for the same call. */
export function outcomeOf({
  ending,
  status,
  whole,
  keep,
  unreadable,
  reply,
  streamed,
}: EndedCall): Outcome & ('captured' | 'partial' | 'undecodable') {
  const hungUpAtEnd = streamed && ending === 'client_closed' && reply?.complete === true; // after the last event a client may hang up, as Codex does
  if (!(ending === 'complete' || hungUpAtEnd) || !whole || status === null) return 'partial';
  if (keep === 'metadata') return 'captured';
  if (unreadable !== null) return 'undecodable';
  const succeeded = status >= 200 && status < 300;
  return succeeded && !reply?.complete ? 'partial' : 'captured';
}
