/** `svc find`: where something was said, by its words or, where the search cassette runs, by what they mean. */
import pc from 'picocolors';
import type { SpanHit } from '../../../cassettes/search/model.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { plain, shortAge } from '../units.ts';
import { keepList } from './last-list.ts';
import { type SessionPage, sessionTable } from './sessions-list.ts';
import { shortened } from './table.ts';

const MODES = ['text', 'vector'] as const;

export type FindOptions = { mode: string; filter: Readonly<Record<string, string>>; limit: number; json: boolean };

/** @throws {OperatorError} 2: there is no such mode; 1: the service does not have it, or does not answer */
export async function find(query: string, options: FindOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const { mode, filter, limit, json } = options;
  if (mode === 'vector') return findByMeaning(query, { limit, json }, loaded, io);
  if (mode !== 'text') {
    const known = MODES.map((one) => `'${one}'`).join(' and ');
    throw new OperatorError(`Cannot search by '${plain(mode)}': there are only ${known}`, 2);
  }
  const api = await openApiClient(loaded);
  const parameters = new URLSearchParams({ ...filter, text: query, limit: String(limit) });
  const page = await api.json<SessionPage>({ path: `/v1/browse/sessions?${parameters}`, what: 'search the sessions' });
  keepList(
    { home: io.home, address: api.address },
    page.items.map(({ id }) => id),
  );
  if (json) return printJson(page, io);
  if (page.items.length === 0)
    return void io.err("No session has all of these words; 'svc find --mode vector' looks for what they mean\n");
  io.out(sessionTable(page.items, io));
}

type Hits = { results: SpanHit[]; count: number; coverage?: { embedded: number; pending: number } };

async function findByMeaning(
  query: string,
  { limit, json }: Pick<FindOptions, 'limit' | 'json'>,
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const path = `/v1/cassettes/search/spans?${new URLSearchParams({ query, top_k: String(Math.min(100, limit)) })}`;
  const hits = await api.json<Hits>({ path, what: 'search by meaning' });
  const { results, coverage } = hits;
  const sessions = [...new Set(results.map(({ session_id }) => session_id))];
  keepList({ home: io.home, address: api.address }, sessions);
  if (json) return printJson(hits, io);
  const now = Date.now();
  for (const { session_id, span_id, score, snippet, user_prompt, started_at } of results) {
    const facts = `${score.toFixed(2)}  span ${span_id.slice(0, 8)}  ${shortAge(started_at, now)}`;
    const number = pc.cyan(String(sessions.indexOf(session_id) + 1));
    io.out(`${number}  ${pc.dim(session_id.slice(0, 8))}  ${pc.bold(line(user_prompt, io, 16))}\n`);
    io.out(`   ${pc.dim(facts)}\n   ${line(snippet, io, 4)}\n`);
  }
  if (results.length === 0) io.err('Nothing is embedded yet\n');
  if (coverage && coverage.pending > 0)
    io.err(pc.dim(`${coverage.embedded} of ${coverage.embedded + coverage.pending} calls are searchable yet\n`));
}

const line = (text: string, { columns }: Io, taken: number): string => {
  const whole = plain(text.replace(/\s+/g, ' ')).trim();
  return columns === undefined ? whole : shortened(whole, columns - taken);
};
