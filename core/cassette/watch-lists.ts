/** Which cassettes are wanted now? Both lists as they are edited; one that cannot be used leaves the last good one in effect. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { BadList, type ListFiles, type ListTexts, listTexts, type ReadLists, readLists } from './read-list.ts';

export type Lists = ReadLists & {
  /** Why the newest edit is not in effect; null when it is. */
  problem: string | null;
  /** When what is in effect was read: RFC 3339, UTC. */
  loaded_at: string;
};

type Watching = ListFiles & {
  /** Hears the first reading, and then each that differs from the one before. */
  heard: (lists: Lists) => void;
  /** How often it is looked, whatever the system tells: it tells nothing on network drives, nor of folders made later. */
  everyMs?: number;
  /** How long something must stay broken or away before it counts: editors cut a file, or move it, before they write it. */
  settleMs?: number;
};

const TOLD_MS = 30; // one edit is told of several times

/** @returns once `heard` has had the first reading, with what ends it */
export async function watchLists({
  heard,
  everyMs = 2_000,
  settleMs = 250,
  ...files
}: Watching): Promise<{ close(): void }> {
  let closed = false;
  let last: Looked | null = null;
  let now: Lists | null = null;

  const look = async (): Promise<void> => {
    let found = await lookAt(files);
    if (last !== null && found.key !== last.key && (found.problem !== null || gone(last, found))) {
      await pause(settleMs);
      found = await lookAt(files);
    }
    if (closed || found.key === last?.key) return;
    last = found;
    const good = found.lists ?? now ?? oursAlone(found);
    const loaded_at = found.lists || !now ? new Date().toISOString() : now.loaded_at;
    const problem = found.problem && `${found.problem}; what was read before stays in effect`;
    now = { ...good, problem, loaded_at };
    heard(now);
  };

  let looking: Promise<void> = Promise.resolve();
  let waiting = false;
  const lookSoon = (): Promise<void> => {
    if (waiting || closed) return looking; // the one that waits has not looked yet
    waiting = true;
    looking = looking.then(async () => {
      await pause(TOLD_MS);
      waiting = false;
      await look();
    });
    return looking;
  };

  await look();
  const watchers = [files.builtIn, ...files.candidates].flatMap((file) => watcherOf(file, () => void lookSoon()));
  const timer = setInterval(() => void lookSoon(), everyMs).unref();
  return {
    close: () => {
      closed = true;
      clearInterval(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

type Looked = { key: string; texts: ListTexts | null; lists: ReadLists | null; problem: string | null };

async function lookAt(files: ListFiles): Promise<Looked> {
  let texts: ListTexts | null = null;
  try {
    texts = await listTexts(files);
    return { key: JSON.stringify(texts), texts, lists: readLists(texts), problem: null };
  } catch (error) {
    if (!(error instanceof BadList)) throw error;
    return { key: JSON.stringify(texts ?? error.message), texts, lists: null, problem: error.message };
  }
}

const gone = (before: Looked, after: Looked) =>
  before.texts?.users.file !== after.texts?.users.file ||
  (before.texts?.ours.text != null && after.texts?.ours.text == null);

/** What there is when the user's list was never good. */
function oursAlone({ texts }: Looked): ReadLists {
  const users = { file: null, text: null };
  try {
    if (texts) return readLists({ ours: texts.ours, users });
  } catch (error) {
    if (!(error instanceof BadList)) throw error;
  }
  return { list: [], file: null, folderOf: () => '.' };
}

/** Of the folder: a file that is replaced is another file. None where the folder is not there, or the system has no more of them. */
function watcherOf(file: string, changed: () => void): FSWatcher[] {
  try {
    const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name === null || name === basename(file)) changed();
    });
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
