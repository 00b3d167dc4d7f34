/** Which of the files found hold a transcript of which there is a newer file: a copy, a backup, or what a harness left behind when it was updated. */
import { basename } from 'node:path';
import type { SweptFile } from './transcript-source.ts';

/**
 * Marks all but the newest file of each transcript: the service takes what comes last for the whole, and an older copy would hide the calls
 * that only the newer one has. Only files that share a name are opened: to open each would take some seconds for 1,000 of them.
 * @param files the newest first
 */
export async function markCopies(files: readonly SweptFile[]): Promise<SweptFile[]> {
  const nameOf = ({ source, path }: SweptFile) => `${source.harness} ${source.sharedName?.(path) ?? basename(path)}`;
  const counts = new Map<string, number>();
  for (const file of files) counts.set(nameOf(file), (counts.get(nameOf(file)) ?? 0) + 1);
  const seen = new Set<string>();
  const marked: SweptFile[] = [];
  for (const file of files) {
    const transcript = counts.get(nameOf(file)) === 1 ? null : await transcriptOf(file);
    marked.push(transcript !== null && seen.has(transcript) ? { ...file, isCopy: true } : file);
    if (transcript !== null) seen.add(transcript);
  }
  return marked;
}

/** Null: it holds none, or cannot be read. */
async function transcriptOf(file: SweptFile): Promise<string | null> {
  const head = file.unreadable === undefined ? await file.source.head(file).catch(() => null) : null;
  if (head === null) return null;
  const { harness_id, harness_session_id } = head.session;
  return JSON.stringify([harness_id, harness_session_id, head.agent_id ?? '']);
}
