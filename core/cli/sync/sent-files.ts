/** What was sent to an installation, in a file of the `.svc` folder. Losing it costs time only, since the service recognises what it has. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../../parse-json.ts';
import type { Prefix } from './transcript-parts.ts';
import type { FoundTranscript } from './transcript-source.ts';

/**
 * `prefix`: what was sent of its beginning, for when it has grown. `sent_parts`: present while it is not sent to its end; 0, since a build
 * before chained parts reads there how many it need not send.
 */
type SentFile = { bytes: number; mtime_ms: number; session: string; sent_parts?: number; prefix?: Prefix };

export type SentFiles = {
  /** Whether it was sent to its end, as it is now. */
  isSent(found: FoundTranscript): boolean;
  /** What was sent of its beginning, in this version or an earlier one; null: nothing. */
  prefixOf(found: FoundTranscript): Prefix | null;
  note(found: FoundTranscript, sent: { session: string; prefix: Prefix | null; isWhole: boolean }): void;
  /** Forgets what is not among these paths any more. */
  keepOnly(paths: ReadonlySet<string>): void;
  /** Writes what has changed. Another process's notes of other files stay. */
  save(): Promise<void>;
};

const VERSION = 1;

/** The folder of these files in a `.svc` folder. */
export const sentFolder = (folder: string): string => join(folder, 'sync');

export async function openSentFiles(folder: string, installation: string): Promise<SentFiles> {
  const path = join(sentFolder(folder), `${installation}.json`);
  const files = await readSent(path);
  const changed = new Map<string, SentFile | null>();
  let saving: Promise<void> = Promise.resolve();
  const write = async () => {
    if (changed.size === 0) return;
    const stored = await readSent(path);
    for (const [file, sent] of changed) {
      if (sent) stored.set(file, sent);
      else stored.delete(file);
    }
    changed.clear();
    await mkdir(sentFolder(folder), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.new`;
    await writeFile(temporary, JSON.stringify({ version: VERSION, files: Object.fromEntries(stored) }), {
      mode: 0o600,
    });
    await rename(temporary, path); // a reader sees all of it
  };
  return {
    isSent: ({ path: file, bytes, mtimeMs }) => {
      const sent = files.get(file);
      return sent?.bytes === bytes && sent.mtime_ms === mtimeMs && sent.sent_parts === undefined;
    },
    prefixOf: ({ path: file }) => files.get(file)?.prefix ?? null,
    note: ({ path: file, bytes, mtimeMs }, { session, prefix, isWhole }) => {
      const progress = { ...(!isWhole && { sent_parts: 0 }), ...(prefix && { prefix }) };
      const sent = { bytes, mtime_ms: mtimeMs, session, ...progress };
      files.set(file, sent);
      changed.set(file, sent);
    },
    keepOnly: (paths) => {
      for (const file of files.keys()) {
        if (paths.has(file)) continue;
        files.delete(file);
        changed.set(file, null);
      }
    },
    save: () => {
      saving = saving.catch(() => {}).then(write); // one after the other: they have one temporary file
      return saving;
    },
  };
}

async function readSent(path: string): Promise<Map<string, SentFile>> {
  try {
    const document = parseJson(await readFile(path, 'utf8'));
    if (!isObject(document) || document.version !== VERSION || !isObject(document.files)) return new Map();
    const entries = Object.entries(document.files) as [string, unknown][];
    return new Map(entries.filter((entry): entry is [string, SentFile] => isSentFile(entry[1])));
  } catch {
    return new Map(); // there is none, or it was cut: everything is sent again
  }
}

const isSentFile = (value: unknown): value is SentFile =>
  isObject(value) &&
  typeof value.bytes === 'number' &&
  typeof value.mtime_ms === 'number' &&
  (value.prefix === undefined || isObject(value.prefix));
