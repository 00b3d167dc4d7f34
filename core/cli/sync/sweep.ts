/** Sends what has changed of the transcripts on this machine, the newest first, a few files at a time. */
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';
import { type IngestClient, stopped } from './ingest-client.ts';
import { markCopies } from './mark-copies.ts';
import { sendTranscript } from './send-transcript.ts';
import type { SentFiles } from './sent-files.ts';
import type { Places, SweptFile, TranscriptSource } from './transcript-source.ts';

/** `sessions` of what was sent; `bytes` of the files found, `sent_bytes` of those sent. */
export type HarnessSummary = {
  harness: string;
  name: string;
  folders: string[];
  /** Why none of its transcripts is read here; null: they are. */
  not_read: string | null;
  files: number;
  sent: number;
  unchanged: number;
  /** Of a transcript of which there is a newer file; not sent. */
  copies: number;
  empty: number;
  /** Of a session that was purged; the service stores nothing of it. */
  purged: number;
  sessions: number;
  bytes: number;
  sent_bytes: number;
  /** Lines of which something was left out, since they are longer than the service takes. */
  cut_lines: number;
  refused: { path: string; reason: string }[];
};

export type SweepProgress = { files: number; of: number; bytes: number; ofBytes: number };

type Sweep = {
  files: readonly SweptFile[];
  client: Pick<IngestClient, 'upload'>;
  sent: SentFiles;
  signal: AbortSignal;
  /** Counts, and sends nothing. */
  dryRun?: boolean;
  progressed?: (progress: SweepProgress) => void;
};

const FILES_AT_ONCE = 3;
const SAVE_MS = 2_000;

/** All transcripts of these harnesses that were changed since a time, the newest first. */
export async function findTranscripts(
  sources: readonly TranscriptSource[],
  places: Places,
  sinceMs: number,
): Promise<SweptFile[]> {
  const files: SweptFile[] = [];
  for (const source of sources.filter((one) => (one.notRead?.(places) ?? null) === null))
    for await (const found of source.find(places)) if (found.mtimeMs >= sinceMs) files.push({ ...found, source });
  return markCopies(files.sort((one, other) => other.mtimeMs - one.mtimeMs || other.bytes - one.bytes));
}

/** @throws {OperatorError} the service has ended, or the signal came; what was sent is noted */
export async function sweep({
  files,
  client,
  sent,
  signal,
  dryRun = false,
  progressed = () => {},
}: Sweep): Promise<HarnessTally> {
  const tally = openTally();
  const changed = files.filter((file) => {
    tally.found(file);
    if (file.isCopy) {
      tally.copy(file);
      return false;
    }
    const isSent = sent.isSent(file);
    if (isSent) tally.unchanged(file);
    return !isSent;
  });
  if (dryRun) return tally;
  const progress = {
    files: 0,
    of: changed.length,
    bytes: 0,
    ofBytes: changed.reduce((sum, { bytes }) => sum + bytes, 0),
  };
  let failure: unknown = null;
  let savedAt = performance.now();
  const queue = changed.values();

  const work = async () => {
    for (const file of queue) {
      if (failure !== null || signal.aborted) return;
      let passed = 0;
      const advanced = (bytes: number) => {
        passed += bytes;
        progress.bytes += bytes;
        progressed(progress);
      };
      try {
        await sendOne(file, { client, sent, tally, advanced });
      } catch (error) {
        if (error instanceof OperatorError) failure = error;
        else tally.refused(file, reasonOf(error));
      }
      progress.files++;
      progress.bytes += file.bytes - passed;
      progressed(progress);
      if (performance.now() - savedAt > SAVE_MS) {
        savedAt = performance.now();
        await sent.save();
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, work));
  } finally {
    await sent.save();
  }
  if (failure !== null) throw failure;
  if (signal.aborted) throw stopped();
  return tally;
}

type One = {
  client: Pick<IngestClient, 'upload'>;
  sent: SentFiles;
  tally: HarnessTally;
  advanced(bytes: number): void;
};

async function sendOne(file: SweptFile, { client, sent, tally, advanced }: One): Promise<void> {
  if (file.unreadable !== undefined) return tally.refused(file, `it cannot be read: ${file.unreadable}`);
  const head = await file.source.head(file);
  if (head === null) return tally.empty(file);
  const session = head.session.harness_session_id;
  const result = await sendTranscript({
    ...{ source: file.source, found: file, head, client, prefix: sent.prefixOf(file) },
    advanced: (prefix, bytes) => {
      sent.note(file, { session, prefix, isWhole: false });
      advanced(bytes);
    },
  });
  if (result.kind === 'refused') return tally.refused(file, result.reason);
  sent.note(file, { session, prefix: result.kind === 'sent' ? result.prefix : null, isWhole: true });
  if (result.kind === 'empty') tally.empty(file);
  else if (result.kind === 'purged') tally.purged(file);
  else tally.sent(file, session, result);
}

const reasonOf = (error: unknown): string => {
  const { code, name } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'it was deleted meanwhile' : `it cannot be read: ${code ?? name}`;
};

export type HarnessTally = ReturnType<typeof openTally>;

function openTally() {
  const harnesses = new Map<TranscriptSource, Omit<HarnessSummary, 'sessions' | 'not_read'> & { ids: Set<string> }>();
  const of = ({ source }: { source: TranscriptSource }) => {
    const existing = harnesses.get(source);
    if (existing) return existing;
    const counts = {
      files: 0,
      sent: 0,
      unchanged: 0,
      copies: 0,
      empty: 0,
      purged: 0,
      bytes: 0,
      sent_bytes: 0,
      cut_lines: 0,
    };
    const { harness, name } = source;
    const made = { harness, name, folders: [], ...counts, refused: [], ids: new Set<string>() };
    harnesses.set(source, made);
    return made;
  };
  return {
    found: (file: SweptFile) => {
      of(file).files++;
      of(file).bytes += file.bytes;
    },
    unchanged: (file: SweptFile) => {
      of(file).unchanged++;
    },
    copy: (file: SweptFile) => {
      of(file).copies++;
    },
    empty: (file: SweptFile) => {
      of(file).empty++;
    },
    purged: (file: SweptFile) => {
      of(file).purged++;
    },
    refused: (file: SweptFile, reason: string) => {
      of(file).refused.push({ path: file.path, reason: plain(reason) });
    },
    sent: (file: SweptFile, session: string, { bytes, cut_lines }: { bytes: number; cut_lines: number }) => {
      const harness = of(file);
      harness.sent++;
      harness.sent_bytes += bytes;
      harness.cut_lines += cut_lines;
      harness.ids.add(session);
    },
    /** In the order of these sources, also those of which nothing was found. */
    summary: (sources: readonly TranscriptSource[], places: Places): HarnessSummary[] =>
      sources.map((source) => {
        const { ids, ...counts } = of({ source });
        return {
          ...counts,
          folders: source.folders(places),
          not_read: source.notRead?.(places) ?? null,
          sessions: ids.size,
        };
      }),
  };
}
