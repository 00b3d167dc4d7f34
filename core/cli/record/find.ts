/** `svc find`: where something was said, as it is written or, where the search cassette runs, by what they mean. */
import pc from 'picocolors';
import type { SpanHit } from '../../../cassettes/search/model.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { FindHit, FindPage } from '../../model/find.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { plain, shortAge } from '../units.ts';
import { keepList } from './last-list.ts';
import { moreRemark } from './more-remark.ts';
import { shortened } from './table.ts';

const MODES = ['text', 'vector', 'hybrid'];
/** Of the search cassette. */
const FILTERS = ['project', 'agent_name', 'model', 'tool', 'status', 'since', 'until'];

export type FindOptions = { mode: string; filter: Readonly<Record<string, string>>; limit: number; json: boolean };

/** @throws {OperatorError} 2: there is no such mode, or nothing to look for; 1: the service does not have it, or does not answer */
export async function find(query: string, options: FindOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const { mode, filter, limit, json } = options;
  if (query.trim() === '') throw new OperatorError('Cannot find the text: it is empty', 2);
  if (!MODES.includes(mode)) {
    const known = MODES.map((one) => `'${one}'`).join(', ');
    throw new OperatorError(`Cannot search by '${plain(mode)}': there are only ${known}`, 2);
  }
  if (mode !== 'text') return findByMeaning(query, options, loaded, io);
  const api = await openApiClient(loaded);
  const page = await foundUpTo(limit, { ...filter, text: query }, api);
  const { items, spans, spans_indexed, replaced_words = [], next_cursor } = page;
  const sessions = [...new Set(items.map(({ session_id }) => session_id))];
  if (items.length > 0) keepList({ home: io.home, address: api.address }, sessions);
  if (json) return printJson(page, io);
  const now = Date.now();
  for (const { word, by } of replaced_words)
    io.err(pc.dim(`Nothing recorded has '${plain(word)}'; these have '${plain(by)}'\n`));
  for (const hit of items) io.out(hitLines(hit, sessions.indexOf(hit.session_id) + 1, now, io));
  if (items.length === 0)
    io.err("Nothing recorded has these words; 'svc find --mode vector' looks for what they mean\n");
  else if (next_cursor !== undefined || items.length >= MOST_HITS) io.err(moreRemark(limit, MOST_HITS));
  if (spans_indexed < spans) io.err(pc.dim(`${spans_indexed} of ${spans} steps are in the index yet\n`));
}

const PAGE = 50;
/** With which the read API ends a search. */
const MOST_HITS = 200;

/** Pages up to the limit as one, with the cursor behind them. */
async function foundUpTo(limit: number, filter: Readonly<Record<string, string>>, api: ApiClient): Promise<FindPage> {
  const items: FindHit[] = [];
  for (let cursor: string | undefined; ; ) {
    const parameters = new URLSearchParams({ ...filter, limit: String(Math.min(PAGE, limit - items.length)) });
    if (cursor !== undefined) parameters.set('cursor', cursor);
    const page: FindPage = await api.json({ path: `/v1/find?${parameters}`, what: 'find the text' });
    items.push(...page.items);
    cursor = page.next_cursor;
    const isLast = cursor === undefined || page.items.length === 0; // a search that ran out of time may have found none
    if (isLast || items.length >= limit) return { ...page, items };
  }
}

function hitLines({ session_id, span_id, title, at, name, place, matches }: FindHit, n: number, now: number, io: Io) {
  const number = pc.cyan(String(n));
  const facts = `${plain(name)}  ${place}  span ${span_id.slice(0, 8)}  ${shortAge(at, now)}`;
  const [match] = matches;
  return [
    `${number}  ${pc.dim(session_id.slice(0, 8))}  ${pc.bold(line(title ?? '', io, 16))}`,
    `   ${pc.dim(facts)}`,
    ...(match ? [`   ${snippet(match, io)}`] : []),
    '',
  ].join('\n');
}

/** What was found, in bold, with as much around it as fits in a line. */
function snippet({ before, match, after }: FindHit['matches'][number], { columns }: Io): string {
  const [head, found, tail] = [before, match, after].map((text) => plain(text.replace(/\s+/g, ' ')));
  const room = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(20, columns - 5);
  const shown = shortened(found ?? '', Math.min(room, 400));
  const left = Math.max(0, room - shown.length);
  const begin = (head ?? '').slice(-Math.ceil(left / 3) || (head ?? '').length);
  return `${left === 0 ? '' : begin}${pc.bold(shown)}${(tail ?? '').slice(0, Math.max(0, left - begin.length))}`;
}

type Hits = { results: SpanHit[]; count: number; coverage?: { embedded: number; pending: number } };

async function findByMeaning(
  query: string,
  { mode, filter, limit, json }: FindOptions,
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const other = Object.keys(filter).find((name) => !FILTERS.includes(name));
  if (other !== undefined)
    throw new OperatorError(`Cannot filter by '${other}' with --mode ${mode}: only text has it`, 2);
  const api = await openApiClient(loaded);
  const parameters = { ...filter, query, top_k: String(Math.min(100, limit)), ...(mode === 'vector' ? {} : { mode }) };
  const path = `/v1/cassettes/search/spans?${new URLSearchParams(parameters)}`;
  const hits = await api.json<Hits>({ path, what: 'search by meaning' });
  const { results, coverage } = hits;
  const sessions = [...new Set(results.map(({ session_id }) => session_id))];
  keepList({ home: io.home, address: api.address }, sessions);
  if (json) return printJson(hits, io);
  const now = Date.now();
  for (const { session_id, span_id, score, snippet, user_prompt, started_at } of results) {
    const facts = `${score.toFixed(mode === 'vector' ? 2 : 4)}  span ${span_id.slice(0, 8)}  ${shortAge(started_at, now)}`;
    const number = pc.cyan(String(sessions.indexOf(session_id) + 1));
    io.out(`${number}  ${pc.dim(session_id.slice(0, 8))}  ${pc.bold(line(user_prompt, io, 16))}\n`);
    io.out(`   ${pc.dim(facts)}\n   ${line(snippet, io, 4)}\n`);
  }
  if (results.length === 0)
    io.err(
      coverage?.embedded === 0 ? 'Nothing is embedded yet\n' : 'Nothing was found; perhaps it is not embedded yet\n',
    );
  if (coverage && coverage.pending > 0)
    io.err(pc.dim(`${coverage.embedded} of ${coverage.embedded + coverage.pending} calls are searchable yet\n`));
}

const line = (text: string, { columns }: Io, taken: number): string => {
  const whole = plain(text.replace(/\s+/g, ' ')).trim();
  return columns === undefined ? whole : shortened(whole, columns - taken);
};
