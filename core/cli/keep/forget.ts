/** `svc forget`: shows where a text stands, and removes the sessions that hold it. */
import type { LoadedConfig } from '../../config/load.ts';
import type { FoundElsewhere } from '../../db/read/find-text.ts';
import type { FoundInSession } from '../../engine/find-text/find-text.ts';
import { OperatorError } from '../../errors.ts';
import { isObject } from '../../parse-json.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { linesOf } from '../lines-of.ts';
import { jsonText } from '../print-response.ts';
import { type ProgressLine, terminalProgress } from '../progress.ts';
import { counted, plain, several } from '../units.ts';
import { confirmRemoval } from './confirm-removal.ts';
import { purgeSummary } from './purge.ts';
import { purgeSessions } from './purge-sessions.ts';

export type ForgetOptions = { text: string | null; dryRun: boolean; yes: boolean; json: boolean };

/** What holds the text. */
type Found = { sessions: FoundInSession[]; elsewhere: FoundElsewhere };

const LEAST = 4;
const PARKED_AT_ONCE = 1_000;

/** 0: it stands nowhere any more, or was only looked for; 1: it still stands somewhere. @throws {OperatorError} */
export async function forget(
  loaded: LoadedConfig,
  { text: argument, dryRun, yes, json }: ForgetOptions,
  io: Pick<Io, 'out' | 'err' | 'isTerminal'>,
  hiddenInput: (question: string) => Promise<string>,
): Promise<0 | 1> {
  if (argument !== null)
    io.err('Others on this machine can see arguments: the text can be typed unseen, or come from a pipe, instead\n');
  const text = argument ?? (await hiddenInput('Text to forget: ')).replace(/\r?\n$/, '');
  if (text.length < LEAST)
    throw new OperatorError(
      `Cannot forget so short a text: it has to have ${LEAST} characters, else it stands everywhere`,
      2,
    );
  const client = await openApiClient(loaded);
  const progress = terminalProgress(io.err);
  const found = await findText(client, text, progress);
  if (dryRun || isNothing(found)) {
    io.out(json ? jsonText({ found }, io) : where(found));
    return 0;
  }
  if (!yes) io.err(where(found));
  const sessions = found.sessions.map(({ session_id }) => session_id);
  const { parked_turns } = found.elsewhere;
  await confirmRemoval(
    `Remove ${several(sessions.length, 'session')}${parked_turns.length > 0 ? ` and ${several(parked_turns.length, 'turn')} set aside` : ''} for good?`,
    { yes, what: 'forget it' },
  );
  for (let from = 0; from < parked_turns.length; from += PARKED_AT_ONCE)
    await client.json({
      method: 'POST',
      path: '/v1/admin/purge/parked-turns',
      body: { ids: parked_turns.slice(from, from + PARKED_AT_ONCE) },
      what: 'remove turns that were set aside',
      timeoutMs: null,
    });
  const purged = await purgeSessions(client, sessions, { reason: "'svc forget'", progress }).finally(progress.clear);
  const left = await findText(client, text, progress);
  const receipt = { found, purged, parked_turns, left };
  if (json) io.out(jsonText(receipt, io));
  else
    io.out(
      `${where(found)}${purgeSummary(purged)}${isNothing(left) ? 'It stands nowhere in the record any more\n' : `Still there:\n${where(left)}`}`,
    );
  return isNothing(left) ? 0 : 1;
}

async function findText(client: ApiClient, text: string, progress: ProgressLine): Promise<Found> {
  const what = 'look for the text';
  const found: Found = { sessions: [], elsewhere: { parked_turns: [], tables: [] } };
  let [total, isWhole] = [0, false];
  try {
    const response = await client.response({ method: 'POST', path: '/v1/admin/find-text', body: { text }, what });
    for await (const line of linesOf(response)) {
      if (!isObject(line)) continue;
      if (typeof line.sessions === 'number') total = line.sessions;
      if (typeof line.scanned === 'number') progress.show('of the sessions looked through', line.scanned, total);
      if ('found' in line) found.sessions.push(line.found as FoundInSession);
      if ('elsewhere' in line) found.elsewhere = line.elsewhere as FoundElsewhere;
      if (line.end === true) isWhole = true;
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
  } finally {
    progress.clear();
  }
  if (!isWhole) throw new OperatorError(`Cannot ${what}: the service cut the connection; its log says why`);
  return found;
}

const isNothing = ({ sessions, elsewhere: { parked_turns, tables } }: Found): boolean =>
  sessions.length + parked_turns.length + tables.length === 0;

const SIDES = {
  request: 'request',
  response: 'response',
  request_headers: 'headers of the request',
  response_headers: 'headers of the response',
  columns: 'address or facts',
} as const;

/** Names of rows for people; other tables are shown by theirs. */
const ROWS: Readonly<Record<string, string>> = {
  spans: 'span',
  traces: 'trace',
  nodes: 'message',
  session_edits: 'name that somebody gave it',
  session_rollups: 'title or preview',
};

function where(found: Found): string {
  if (isNothing(found)) return 'It stands nowhere\n';
  const lines = found.sessions.flatMap(({ session_id, title, deleted, raw_turns, turns, rows }) => {
    const sides = [...new Set(turns.flatMap((turn) => turn.sides))].map((side) => SIDES[side]);
    const derived = Object.entries(rows).map(([name, count]) =>
      ROWS[name] ? several(count, ROWS[name]) : `${counted(count)} in ${name}`,
    );
    return [
      `Session ${session_id}${title === null ? '' : `  ${plain(title).slice(0, 60)}`}${deleted ? ' (deleted)' : ''}`,
      `  ${several(raw_turns, 'turn')}${sides.length > 0 ? ` (${sides.join(', ')})` : ''}`,
      ...(derived.length > 0 ? [`  ${derived.join(', ')}`] : []),
    ];
  });
  const { parked_turns, tables } = found.elsewhere;
  if (parked_turns.length > 0) lines.push(`${several(parked_turns.length, 'turn')} set aside unread`);
  for (const { table, rows } of tables) lines.push(`${several(rows, 'row')} of ${plain(table)}`);
  return `${lines.join('\n')}\n`;
}
