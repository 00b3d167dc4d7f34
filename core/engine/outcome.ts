/** How does a call stand in the books? `captured` is what is whole and was read; a request that cannot be read is kept all the same. */
import type { Ending, Outcome } from '../model/coverage.ts';
import type { Reply } from '../model/reply.ts';

type Ended = {
  ending: Ending;
  status: number | null; // null: no answer came
  whole: boolean; // all of both bodies was kept
  keep: 'full' | 'metadata';
  unreadable: string | null; // why the request cannot be read
  reply: Reply | null; // null: none, or it cannot be read
  streamed: boolean; // as the request wanted it
};

/** Follows from the bytes and from how well we can read them: a mended reader may find another one in the same call. */
export function outcomeOf({
  ending,
  status,
  whole,
  keep,
  unreadable,
  reply,
  streamed,
}: Ended): Outcome & ('captured' | 'partial' | 'undecodable') {
  const heardOut = streamed && ending === 'client_closed' && reply?.complete === true; // who has the last event may hang up, as Codex does
  if (!(ending === 'complete' || heardOut) || !whole || status === null) return 'partial';
  if (keep === 'metadata') return 'captured';
  if (unreadable !== null) return 'undecodable';
  const succeeded = status >= 200 && status < 300;
  return succeeded && !reply?.complete ? 'partial' : 'captured';
}
