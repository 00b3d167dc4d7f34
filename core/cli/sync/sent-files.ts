/** What was sent to an installation, in a file of the `.svc` folder. Losing it costs time only, since the service recognises what it has. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../../parse-json.ts';
import type { FoundTranscript } from './transcript-source.ts';

/** `sent_parts`: of one that is not sent to its end, how many parts of its beginning are. Absent: all of it is sent. */
type SentFile = { bytes: number; mtime_ms: number; session: string; sent_parts?: number };

export type SentFiles = {
  /** `sent`: as it is now. `part`: so many parts of its beginning. `changed`: another version of it, or none. */
  stateOf(found: FoundTranscript): { kind: 'sent' } | { kind: 'part'; parts: number } | { kind: 'changed' };
  /** @param sentParts null: all of it */
  note(found: FoundTranscript, session: string, sentParts: number | null): void;
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
  return {
    stateOf: ({ path: file, bytes, mtimeMs }) => {
      const sent = files.get(file);
      if (sent?.bytes !== bytes || sent.mtime_ms !== mtimeMs) return { kind: 'changed' };
      return sent.sent_parts === undefined ? { kind: 'sent' } : { kind: 'part', parts: sent.sent_parts };
    },
    note: ({ path: file, bytes, mtimeMs }, session, sentParts) => {
      const sent = { bytes, mtime_ms: mtimeMs, session, ...(sentParts !== null && { sent_parts: sentParts }) };
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
    save: async () => {
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
  isObject(value) && typeof value.bytes === 'number' && typeof value.mtime_ms === 'number';
