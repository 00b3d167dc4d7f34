/** Watches both lists for edits; while an edit cannot be used, the last good list stays in effect. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { BadList, type ListFiles, type ListTexts, listTexts, type ReadLists, readLists } from './read-list.ts';

export type WatchedLists = ReadLists & {
  /** Why the newest edit is not in effect; null when it is. */
  problem: string | null;
  /** When the list in effect was read: RFC 3339, UTC. */
  loaded_at: string;
};

type Watching = ListFiles & {
  /** Called with the first reading, and then with each that differs from the one before. */
  onChange: (lists: WatchedLists) => void;
  /** How often the files are read regardless of change events: there are none on network drives, nor for folders made later. */
  everyMs?: number;
  /** How long a file must stay broken or missing before that counts: editors truncate a file, or move it, before they write it. */
  settleMs?: number;
};

const DEBOUNCE_MS = 30; // one edit causes several events

/** Settles once `onChange` was called with the first reading. @returns `close` ends the watching */
export async function watchLists({
  onChange,
  everyMs = 2_000,
  settleMs = 250,
  ...files
}: Watching): Promise<{ close(): void }> {
  let closed = false;
  let previous: Reading | null = null;
  let current: WatchedLists | null = null;

  const look = async (): Promise<void> => {
    let found = await lookAt(files);
    if (previous !== null && found.key !== previous.key && (found.problem !== null || hasVanished(previous, found))) {
      await pause(settleMs);
      found = await lookAt(files);
    }
    if (closed || found.key === previous?.key) return;
    previous = found;
    const good = found.lists ?? current ?? oursAlone(found);
    const loaded_at = found.lists || !current ? new Date().toISOString() : current.loaded_at;
    const problem = found.problem && `${found.problem}; what was read before stays in effect`;
    current = { ...good, problem, loaded_at };
    onChange(current);
  };

  let looking: Promise<void> = Promise.resolve();
  let waiting = false;
  const lookSoon = (): Promise<void> => {
    if (waiting || closed) return looking; // the waiting one has not read yet
    waiting = true;
    looking = looking.then(async () => {
      await pause(DEBOUNCE_MS);
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

type Reading = { key: string; texts: ListTexts | null; lists: ReadLists | null; problem: string | null };

async function lookAt(files: ListFiles): Promise<Reading> {
  let texts: ListTexts | null = null;
  try {
    texts = await listTexts(files);
    return { key: JSON.stringify(texts), texts, lists: readLists(texts), problem: null };
  } catch (error) {
    if (!(error instanceof BadList)) throw error;
    return { key: JSON.stringify(texts ?? error.message), texts, lists: null, problem: error.message };
  }
}

const hasVanished = (before: Reading, after: Reading) =>
  before.texts?.users.file !== after.texts?.users.file ||
  (before.texts?.ours.text != null && after.texts?.ours.text == null);

/** The list when the user's was never valid: ours alone. */
function oursAlone({ texts }: Reading): ReadLists {
  const users = { file: null, text: null };
  try {
    if (texts) return readLists({ ours: texts.ours, users });
  } catch (error) {
    if (!(error instanceof BadList)) throw error;
  }
  return { list: [], file: null, folderOf: () => '.' };
}

/** Watches the folder, since a replaced file is another file. None where the folder does not exist, or the system has no watchers left. */
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
