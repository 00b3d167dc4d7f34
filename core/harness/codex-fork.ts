/** The fork of a Codex thread: where its inherited history comes from, and what of its file is inherited. */
import { fields, text } from '../provider/json.ts';
import { recordTime } from './record-time.ts';

/** The time for which the lines of the inherited history, which some versions stamp anew, are still being written. */
const COPIED_MS = 1_000;

export type CodexFork = {
  /** The first thread of the chain of forks, as far as the file tells. */
  root: string;
  /** Whether what was recorded at this instant is inherited; null, where the time is unknown, is not. */
  inherits(at: string | null): boolean;
};

/**
 * A file begins with the `session_meta` of its own thread; the inherited history begins with that of its origin, and so on.
 * @param metas the records of type `session_meta`, in the file's order
 * @returns null: the file's thread was not forked
 */
export function codexFork(metas: readonly Record<string, unknown>[], received_at: string): CodexFork | null {
  const origins = new Map(
    metas.map(({ payload }) => [text(fields(payload).id), text(fields(payload).forked_from_id)] as const),
  );
  const [own] = metas;
  let root = text(fields(own?.payload).forked_from_id);
  if (root === '') return null;
  for (let origin = takeFrom(origins, root); origin !== ''; origin = takeFrom(origins, root)) root = origin;
  const startedAt = Date.parse(recordTime(own, received_at) ?? '');
  return { root, inherits: (at) => at !== null && Date.parse(at) <= startedAt + COPIED_MS };
}

/** Each once, since files may be edited and a chain may lead back to itself. */
function takeFrom(origins: Map<string, string>, thread: string): string {
  const origin = origins.get(thread) ?? '';
  origins.delete(thread);
  return origin;
}
