/** Whether a newcomer has transcripts that were never sent: looked at once in a `.svc` folder, and only for a moment. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { transcriptSources } from './harness/sources.ts';
import { sentFolder } from './sent-files.ts';
import type { Places } from './transcript-source.ts';

/** `harnesses` by the names that their makers use; `isAll` false: there may be more, which were not counted. */
export type TranscriptsFound = { files: number; harnesses: string[]; isAll: boolean };

const LOOK_MS = 300;

/** null: there are none, some were sent before, or they were offered before. @param folder the `.svc` in effect */
export async function unsentTranscripts(folder: string, places: Places): Promise<TranscriptsFound | null> {
  if (places.home === '' || existsSync(sentFolder(folder))) return null;
  const until = performance.now() + LOOK_MS;
  const harnesses = new Set<string>();
  let [files, isAll]: [number, boolean] = [0, true];
  for (const source of transcriptSources) {
    if ((source.notRead?.(places) ?? null) !== null) continue;
    for await (const { bytes } of source.find(places)) {
      if (bytes > 0) {
        files++;
        harnesses.add(source.name);
      }
      isAll = performance.now() < until;
      if (!isAll) break;
    }
  }
  if (files === 0) return null;
  await mkdir(sentFolder(folder), { recursive: true, mode: 0o700 });
  return { files, harnesses: [...harnesses], isAll };
}
