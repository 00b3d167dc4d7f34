/** Fills the index of texts behind derivation: small sessions together, those that were active last first. */
import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.ts';
import { NOTHING, type SessionBehind } from '../../db/find/index-spans.ts';
import { foundPrompts } from './found-prompts.ts';
import { foundTexts } from './found-texts.ts';
import { type IndexRead, indexCommits, keyOf } from './index-commits.ts';
import { nothingSeen, type SeenInPrompts } from './prompt-texts.ts';

const BEHIND = 1_000;
/** Spans that are read, and written with their texts, at a time: of many small sessions, or of a part of one. */
const AT_ONCE = { sessions: 100, spans: 200 };
/** After so long a pass ends, and the order begins anew. To look for sessions takes longer, the more there are. */
const PASS_MS = 5_000;
/** Of so many sessions it is remembered which prompts were read. */
const REMEMBERED = 32;

type Indexing = {
  execute: Database['execute'];
  /** Runs a commit when it delays no turn. */
  committing<T>(work: () => Promise<T>): Promise<T>;
  /** Awaited after work that took so long. */
  rest(workedMs: number): Promise<void>;
};

/** @returns the function that indexes what is behind now, and returns whether anything was */
export function openIndexing({ execute, committing, rest }: Indexing): (signal: AbortSignal) => Promise<boolean> {
  const remembered = new LRUCache<string, SeenInPrompts>({ max: REMEMBERED });

  /** Removes what a session no longer has. */
  const pruned = async (session: SessionBehind): Promise<SessionBehind> => {
    const { session_id, after, again, outdated } = session;
    if (!outdated) return session;
    const lacking = await committing(() => execute('pruneIndexed', { session_id, all: !again }));
    return { ...session, after: lacking ? NOTHING : after, outdated: false };
  };

  /** @returns the sessions of which all was written; of one that was passed over nothing further is, or a part of it would be missing */
  const write = async (read: IndexRead): Promise<ReadonlySet<string>> => {
    const written = new Set(read.sessions.map(({ session_id }) => session_id));
    for (const commit of indexCommits(read)) {
      const sessions = commit.sessions.filter(({ session_id }) => written.has(session_id));
      if (sessions.length === 0) continue;
      const present = await committing(() => execute('writeIndexed', { ...commit, sessions }));
      for (const { session_id } of sessions) if (!present.includes(session_id)) written.delete(session_id);
    }
    return written;
  };

  /** Indexes the first spans of these sessions. @returns the sessions of which there are more */
  const indexTogether = async (behind: readonly SessionBehind[]): Promise<SessionBehind[]> => {
    const sessions: SessionBehind[] = [];
    for (const session of behind) sessions.push(await pruned(session));
    const { spans, more } = await execute('spansToIndex', { sessions, limit: AT_ONCE.spans });
    const last = more ? spans.at(-1) : undefined;
    const reached = last ? sessions.findIndex(({ session_id }) => session_id === last.session_id) : sessions.length;
    const read = sessions.slice(0, reached + 1);
    const seen = new Map(read.map(({ session_id }) => [session_id, remembered.get(session_id) ?? nothingSeen()]));
    for (const { session_id } of read) remembered.delete(session_id); // until what was read is written
    const texts = await foundTexts(spans);
    const prompts = await foundPrompts(execute, spans, seen);
    const written = await write({ sessions: read, spans, more, texts, prompts });
    for (const id of written) remembered.set(id, seen.get(id) ?? nothingSeen());
    const [part, ...unread] = sessions.slice(reached);
    return last && part && written.has(part.session_id) ? [{ ...part, after: keyOf(last) }, ...unread] : unread;
  };

  return async (signal) => {
    const behind = await execute('sessionsToIndex', { limit: BEHIND });
    for (const { session_id, again, outdated } of behind) if (!again || outdated) remembered.delete(session_id);
    const passBegan = performance.now();
    for (let sessions = behind; sessions.length > 0 && !signal.aborted; ) {
      const began = performance.now();
      if (began - passBegan > PASS_MS) break;
      const together = firstOf(sessions);
      sessions = [...(await indexTogether(together)), ...sessions.slice(together.length)];
      await rest(performance.now() - began);
    }
    return behind.length > 0;
  };
}

/** As many as can be read together, but at least one. */
function firstOf(sessions: readonly SessionBehind[]): readonly SessionBehind[] {
  let spans = 0;
  const end = sessions.findIndex((session, i) => {
    spans += session.spans;
    return i > 0 && (i >= AT_ONCE.sessions || spans > AT_ONCE.spans);
  });
  return end < 0 ? sessions : sessions.slice(0, end);
}
