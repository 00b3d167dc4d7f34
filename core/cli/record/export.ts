/** `svc export`: whole sessions as lines of JSON, of the export cassette, to standard output or a file that is complete once it has its name. */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { openOutputFile } from '../output-target.ts';
import { copyBody, terminalTexts } from '../print-response.ts';
import { cutOr } from '../response-body.ts';
import { sized } from '../units.ts';
import { sessionOf } from './session-of.ts';
import { instantOf } from './time-option.ts';

export type ExportOptions = {
  since: string | null;
  until: string | null;
  detail: string | null;
  /** Null or `-`: standard output. */
  output: string | null;
};

const PROGRESS_MS = 1_000;

/** @param word null: all sessions of the window @throws {OperatorError} the export is refused or was cut, or the file cannot be written */
export async function exportSessions(
  word: string | null,
  options: ExportOptions,
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const { since, until, detail, output } = options;
  if (word !== null && (since !== null || until !== null))
    throw new OperatorError('Cannot export: a session is exported whole; leave out --since and --until', 2);
  const query = new URLSearchParams({
    ...(since !== null && { since: instantOf(since, { flag: '--since', what: 'export' }) }),
    ...(until !== null && { until: instantOf(until, { flag: '--until', what: 'export' }) }),
    ...(detail !== null && { detail }),
  });
  const api = await openApiClient(loaded);
  const of = word === null ? '' : `/${await sessionOf(word, api, io.home)}`;
  const path = `/v1/cassettes/export/sessions${of}?${query}`;
  const body = await api.response({ path, what: 'export', headers: { accept: '*/*' } });
  try {
    if (output === null || output === '-') return await copyBody(body, io, 'export');
    const bytes = await writeWhole(body, output, io);
    io.err(`Exported ${sized(bytes)} to ${output}\n`);
  } catch (error) {
    const reported = cutOr(error, 'export');
    if (reported instanceof OperatorError) throw reported;
    throw new OperatorError(`Cannot export: ${(error as Error).message}`, 1, { cause: error });
  }
}

/** Returns the bytes written. */
async function writeWhole(body: IncomingMessage, path: string, { err, isInteractive }: Io): Promise<number> {
  const file = await openOutputFile(path).catch((error: unknown) => {
    body.destroy(); // its connection would keep the process
    throw error;
  });
  const { stream } = file;
  const progress = setInterval(() => isInteractive && err(`\r${sized(stream.bytesWritten)} …`), PROGRESS_MS);
  try {
    await pipeline(file.isTerminal ? terminalTexts(body) : body, stream);
    await file.publish();
    return stream.bytesWritten;
  } catch (error) {
    await file.discard();
    throw error;
  } finally {
    clearInterval(progress);
    if (isInteractive) err('\r');
  }
}
