/** `svc sync`: sends the transcripts on this machine to the service that runs, and says what became of each. */
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { jsonText } from '../print-response.ts';
import { openProgress } from '../progress.ts';
import { addresses } from '../read-api.ts';
import { transcriptSources } from './harness/sources.ts';
import { openIngestClient } from './ingest-client.ts';
import { progressText } from './progress-text.ts';
import { withoutRecorded } from './recorded-before.ts';
import { openSentFiles } from './sent-files.ts';
import { type SyncSummary, summaryText } from './show-summary.ts';
import { stateFolder } from './state-folder.ts';
import { findTranscripts, sweep } from './sweep.ts';

export type SyncOptions = {
  json: boolean;
  dryRun: boolean;
  /** null: however old they are. */
  sinceDays: number | null;
  /** Also what would count twice. (recorded-before.ts) */
  evenRecorded: boolean;
  /** Whether a person reads `err`. */
  isTerminal: boolean;
  /** For how long a service that takes nothing is tried again; default: a minute. */
  retryForMs?: number;
};

const DAY_MS = 86_400_000;
/** A copied file may have a time before 1970. */
const ALL_TIMES = Number.NEGATIVE_INFINITY;

/** @returns 1 when a file was refused @throws {OperatorError} there is no service, it has ended, or the command was stopped */
export async function sync(loaded: LoadedConfig, options: SyncOptions, io: Io): Promise<0 | 1> {
  const startedAt = performance.now();
  const { ingest: address } = addresses(loaded);
  if (address === null)
    throw new OperatorError(
      'Cannot find the service: ingest.listen leaves the port to the system; say where it is with --ingest-listen',
    );
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const progress = openProgress(options.isTerminal ? io.err : null);
  try {
    const client = await openIngestClient({
      ...{ address, signal: stop.signal },
      ...(options.retryForMs !== undefined && { retryForMs: options.retryForMs }),
    });
    try {
      const sent = await openSentFiles(stateFolder(loaded, io.home), client.installation);
      const sinceMs = options.sinceDays === null ? ALL_TIMES : Date.now() - options.sinceDays * DAY_MS;
      const sources = options.evenRecorded ? transcriptSources : await withoutRecorded(transcriptSources, loaded);
      const files = await findTranscripts(sources, io, sinceMs);
      if (options.sinceDays === null) sent.keepOnly(new Set(files.map(({ path }) => path)));
      const pending = files.filter((file) => !file.isCopy && !sent.isSent(file));
      const tally = await sweep({
        ...{ files, client, sent, signal: stop.signal, dryRun: options.dryRun },
        progressed: (soFar) =>
          progress.show(progressText(soFar, (performance.now() - startedAt) / 1000), soFar.bytes, soFar.ofBytes),
      });
      progress.clear();
      const summary: SyncSummary = {
        service: address,
        dry_run: options.dryRun,
        seconds: Number(((performance.now() - startedAt) / 1000).toFixed(3)),
        harnesses: tally.summary(sources, io),
        ...(options.dryRun && {
          would_send: pending.map(({ source, path, bytes }) => ({ harness: source.harness, path, bytes })),
        }),
      };
      io.out(options.json ? jsonText(summary, io, 2) : summaryText(summary));
      return summary.harnesses.some(({ refused }) => refused.length > 0) ? 1 : 0;
    } finally {
      client.close();
    }
  } finally {
    progress.clear();
    process.removeListener('SIGINT', onSignal).removeListener('SIGTERM', onSignal);
  }
}
