/** Follows the transcripts of a harness while it runs, and sends what is new soon after it was written. */
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { sleepUntil } from '../../retry.ts';
import { transcriptSources } from './harness/sources.ts';
import { openIngestClient } from './ingest-client.ts';
import { openSentFiles } from './sent-files.ts';
import { findTranscripts, sweep } from './sweep.ts';
import type { Places, SweptFile } from './transcript-source.ts';

export type FollowOptions = {
  /** As in `identity.harness_id`; of another one than `transcriptSources` has, nothing is followed. */
  harness: string;
  /** Files that are changed from then on, in milliseconds since 1970; earlier ones are those of other runs. */
  since: number;
  /** Of the ingest API, as `http://127.0.0.1:8082`. */
  address: string;
  /** The `.svc` folder that notes what was sent. */
  folder: string;
  places: Places;
  /** Which of them; default: all. Where it throws, as for a file that is gone, the file counts as not wanted this time. */
  isWanted?: (path: string) => boolean | Promise<boolean>;
  /** Called at most once for each message: also when what a problem held up was sent afterwards. */
  onProblem?: (message: string) => void;
  /** Overrides the times of this file, for tests. */
  pollMs?: number;
  reportAfterMs?: number;
};

export type Following = {
  /** Sends what is not sent yet, within a time, and ends. Never throws. @returns files and sessions that were sent in all */
  stop(withinMs?: number): Promise<{ files: number; sessions: string[] }>;
};

/** Where no event comes, as on some network drives, and for new folders. */
const POLL_MS = 2_000;
/** After an event: a harness writes several records one after the other. */
const DEBOUNCE_MS = 300;
/** Each time a file is read whole, here and by the service, which takes some 15 to 25 ms of a core for a MB: a large one is sent less often. */
const PAUSE_MS_PER_MB = 300;
/** One that takes long to send waits so many times as long until the next time. */
const PAUSE_FACTOR = 20;
const SHORTEST_PAUSE_MS = 1_500;
const MOST_WATCHED = 32;
const STOP_MS = 5_000;
/** Services are started beside the harness, and restarted: what fails for less is tried again and not reported. */
const REPORT_AFTER_MS = 5_000;
const SENT_AFTERWARDS = 'The transcripts were sent afterwards';

export function followTranscripts(options: FollowOptions): Following {
  const { harness, since, address, folder, places, isWanted = () => true, onProblem = () => {} } = options;
  const sources = transcriptSources.filter((source) => source.harness === harness);
  const stopping = new AbortController(); // no further round waits
  const aborting = new AbortController(); // uploads under way end
  const reported = new Set<string>();
  const reportOnce = (message: string) => {
    if (!reported.has(message)) onProblem(message);
    reported.add(message);
  };
  const report = (error: unknown) =>
    reportOnce(
      error instanceof OperatorError ? error.message : `Cannot follow the transcripts: ${(error as Error).name}`,
    );
  const failures = openFailures({ report, reportSent: () => reportOnce(SENT_AFTERWARDS), ...options });
  let hasChanged = false; // since the last round began
  let wake = () => {};
  const watched = openWatches(() => {
    hasChanged = true;
    wake();
  });
  const sentSessions = new Set<string>();
  const sentPaths = new Set<string>();
  const dueAt = new Map<string, number>(); // by path: when it may be sent again

  const wanted = async (path: string) => {
    try {
      return await isWanted(path);
    } catch {
      return false;
    }
  };

  const changedFiles = async (): Promise<SweptFile[]> => {
    const files: SweptFile[] = [];
    for (const file of await findTranscripts(sources, places, since)) if (await wanted(file.path)) files.push(file);
    watched.set([...sources.flatMap((source) => source.folders(places)), ...files.map(({ path }) => dirname(path))]);
    return files;
  };

  /** @param isLast sends also what would have to wait */
  const round = async (isLast: boolean) => {
    const files = await changedFiles();
    if (files.length === 0) return;
    const client = await openIngestClient({ address, signal: aborting.signal, retryForMs: RETRY_FOR_MS });
    try {
      const sent = await openSentFiles(folder, client.installation);
      const due = files.filter(
        (file) => !file.isCopy && !sent.isSent(file) && (isLast || performance.now() >= (dueAt.get(file.path) ?? 0)),
      );
      for (const file of due) {
        const startedAt = performance.now();
        failures.sending(file.path);
        const tally = await sweep({ files: [file], client, sent, signal: aborting.signal });
        const [summary] = tally.summary([file.source], places);
        const tookMs = performance.now() - startedAt;
        const pauseMs = Math.max(SHORTEST_PAUSE_MS, PAUSE_FACTOR * tookMs, (file.bytes / 1e6) * PAUSE_MS_PER_MB);
        dueAt.set(file.path, performance.now() + pauseMs);
        for (const { reason } of summary?.refused ?? [])
          report(new OperatorError(`Cannot send a transcript: ${reason}`));
        if ((summary?.sent ?? 0) === 0) continue;
        failures.sent(file.path);
        sentPaths.add(file.path);
        const head = await file.source.head(file);
        if (head) sentSessions.add(head.session.harness_session_id);
      }
    } finally {
      client.close();
    }
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      hasChanged = false;
      await round(false).then(failures.ended, failures.failed);
      const woken = new AbortController();
      wake = () => woken.abort();
      if (!hasChanged && !stopping.signal.aborted) await sleepUntil(woken.signal, options.pollMs ?? POLL_MS);
      if (hasChanged) await sleepUntil(stopping.signal, DEBOUNCE_MS);
    }
  };
  const ended = sources.length > 0 ? loop() : Promise.resolve();

  return {
    stop: async (withinMs = STOP_MS) => {
      stopping.abort();
      wake();
      const late = setTimeout(() => aborting.abort(), withinMs);
      await ended;
      if (sources.length > 0 && !aborting.signal.aborted) await round(true).then(failures.ended, failures.failed);
      clearTimeout(late);
      failures.reportLast();
      watched.set([]);
      return { files: sentPaths.size, sessions: [...sentSessions] };
    },
  };
}

/** A service that is away is tried again in the next round. */
const RETRY_FOR_MS = 2_000;

type FailureReports = { report(error: unknown): void; reportSent(): void; reportAfterMs?: number };

/** `path`: of the file that was being sent; null: none was, as where nobody listens. */
type RoundFailure = { since: number; error: unknown; path: string | null };

/**
 * The rounds that failed since the last one that did not: reported once that goes on, or at the end. That it was sent afterwards is reported
 * once a round has ended without a failure and the file that failed is among those that were sent.
 */
function openFailures({ report, reportSent, reportAfterMs = REPORT_AFTER_MS }: FailureReports) {
  let last: RoundFailure | null = null;
  let reported: RoundFailure | null = null; // and it was not sent since
  let sending: string | null = null;
  const sent = new Set<string>(); // since the last round that ended without a failure
  const reportLast = () => {
    if (last === null) return;
    report(last.error);
    reported = last;
  };
  return {
    failed(error: unknown): void {
      if (sending !== null) sent.delete(sending);
      last = { since: last?.since ?? performance.now(), error, path: sending };
      sending = null;
      if (performance.now() - last.since >= reportAfterMs) reportLast();
    },
    /** A round ended without a failure. */
    ended(): void {
      last = null;
      sending = null;
      if (reported && (reported.path === null ? sent.size > 0 : sent.has(reported.path))) {
        reportSent();
        reported = null;
      }
      sent.clear();
    },
    sending(path: string): void {
      sending = path;
    },
    sent(path: string): void {
      sent.add(path);
      sending = null;
    },
    reportLast,
  };
}

type Watches = { set(folders: readonly string[]): void };

/** Watches these folders and no others from now on; one that cannot be watched is left to the poll. */
function openWatches(changed: () => void): Watches {
  const watches = new Map<string, FSWatcher>();
  return {
    set: (folders) => {
      const wanted = new Set([...new Set(folders)].slice(0, MOST_WATCHED));
      for (const [folder, watcher] of watches) {
        if (wanted.has(folder)) continue;
        watcher.close();
        watches.delete(folder);
      }
      for (const folder of wanted) {
        if (watches.has(folder)) continue;
        try {
          const watcher = watch(folder, { persistent: false }, changed);
          watcher.on('error', () => {
            watcher.close();
            watches.delete(folder);
          });
          watches.set(folder, watcher);
        } catch {} // it does not exist yet, or the system watches too many
      }
    },
  };
}
