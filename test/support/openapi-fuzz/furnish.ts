/** The data that every operation needs to be seen to work: sessions of the demo, calls that were captured, and the ids of all. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cassetteFolder } from '../cassette-folder.ts';
import { acceptedTurn, plainTurn } from '../post-turns.ts';
import { eventually, read, type Service } from '../serve.ts';
import type { Operation } from './document.ts';
import type { Known } from './requests.ts';

const CASSETTE = 'notes';

export type Furniture = {
  /** Ids of sessions that may be lost, and of those that have to stay. */
  spare: string[];
  sessions: string[];
  /** Ids of skills, as above. */
  skills: { spare: string[]; kept: string[] };
  traces: { trace_id: string; span_id: string }[];
  rawTurns: { raw_turn_id: string }[];
  cursors: Record<string, string[]>; // by path of the list
};

/** @param spare so many sessions to be deleted */
export async function furnish(service: Service, { spare }: { spare: number }): Promise<Furniture> {
  const { api } = service;
  await cassetteFolder({ name: CASSETTE, document: withoutLines }, join(service.folder, CASSETTE));
  const list = { cassettes: [{ name: CASSETTE, source: `./${CASSETTE}` }] };
  await writeFile(join(service.folder, 'cassette.manifest.json'), JSON.stringify(list)); // seen while the service runs
  await fetch(`${api}/v1/admin/seed/demo`, { method: 'POST' });
  const demo = await sessionIds(api);
  for (const question of ['What is the weather?', 'malformed', 'Hello', 'break off'])
    await fetch(`${service.proxy}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-fuzz' },
      body: JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: question }] }),
    }).then((response) => response.text().catch(() => ''));
  await eventually('the captured calls', async () => (await sessionIds(api)).length >= demo.length + 4);
  const sessions = await sessionIds(api);
  const accepted = [];
  for (let made = 0; made < spare; made++) accepted.push(await acceptedTurn(service, plainTurn(`spare-${made}`)));
  const { items } = await read<{ items: { trace_id: string }[] }>(`${api}/v1/traces?limit=200`);
  const traces = [];
  for (const { trace_id } of items.slice(0, 20)) {
    const { spans } = await read<{ spans: { span_id: string }[] }>(`${api}/v1/traces/${trace_id}?payload=preview`);
    traces.push(...spans.slice(0, 3).map(({ span_id }) => ({ trace_id, span_id })));
  }
  const rawTurns = [];
  for (const id of sessions.slice(0, 8)) {
    const page = await read<{ items: { raw_turn_id: number }[] }>(`${api}/v1/sessions/${id}/raw_turns?limit=3`);
    rawTurns.push(...page.items.map(({ raw_turn_id }) => ({ raw_turn_id: `${raw_turn_id}` })));
  }
  await eventually('the cassette is in', async () => (await fetch(`${api}/v1/cassettes/${CASSETTE}/hello`)).ok);
  const skills = { spare: await madeSkills(api, 6), kept: await madeSkills(api, 4) };
  return { spare: accepted.map(({ session_id }) => session_id), sessions, skills, traces, rawTurns, cursors: {} };
}

const BUILT_IN = ['export', 'search', 'skills'];

/** Versions in the history of each, so that what reads them has something to read. */
async function madeSkills(api: string, count: number): Promise<string[]> {
  await eventually('the cassettes that come with the service', async () => {
    const { cassettes } = await read<{ cassettes: { name: string; state: string }[] }>(`${api}/v1/cassettes`);
    return BUILT_IN.every((one) => cassettes.some(({ name, state }) => name === one && state === 'admitted'));
  });
  const posted = async (path: string, body: object): Promise<{ id: string }> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as { id: string };
  };
  const ids: string[] = [];
  for (let made = 0; made < count; made++) {
    const { id } = await posted('/v1/cassettes/skills', { name: `Skill ${made}`, content: '1. Look' });
    await posted(`/v1/cassettes/skills/${id}/versions`, {});
    ids.push(id);
  }
  return ids;
}

const sessionIds = async (api: string): Promise<string[]> =>
  (await read<{ items: { id: string }[] }>(`${api}/v1/sessions?limit=200`)).items.map(({ id }) => id);

/** Whether a session is gone, or hidden, once this was done to it. */
export const isDestructive = ({ method, path }: Operation): boolean => method === 'DELETE' || path.endsWith('/purge');

/** The ids that requests to an operation can name; a cursor is one that its own list returned. */
export function knownTo(operation: Operation, furniture: Furniture): Known {
  const { spare, sessions, skills, traces, rawTurns, cursors } = furniture;
  const [deletable, stable] = operation.path.startsWith('/v1/cassettes/skills/')
    ? [skills.spare, skills.kept]
    : [spare, sessions];
  const ids = (isDestructive(operation) ? deletable : stable).map((id) => ({ id }));
  return {
    paths: pathsOf(operation, { traces, rawTurns, ids }),
    query: {
      session_id: sessions,
      sessionIds: sessions,
      ...(operation.path === '/v1/cassettes/skills/get' ? { id: skills.kept } : {}),
      cursor: cursors[operation.path] ?? [],
      limit: ['1', '3', '200', '500'],
      agent_name: ['claude', 'codex'],
      provider: ['anthropic', 'openai'],
    },
  };
}

/** The document without the path of lines, which answers any number of lines. */
const withoutLines = (document: Record<string, unknown>) => {
  const { [`/api/${CASSETTE}/lines`]: _, ...paths } = document.paths as Record<string, unknown>;
  return { ...document, paths };
};

const pathsOf = (
  { path }: Operation,
  { traces, rawTurns, ids }: Pick<Furniture, 'traces' | 'rawTurns'> & { ids: { id: string }[] },
): Known['paths'] => {
  if (path.includes('{trace_id}')) return traces;
  if (path.includes('{raw_turn_id}')) return rawTurns;
  if (path.includes('{name}')) return [{ name: CASSETTE }];
  return path.includes('{id}') ? ids : [];
};

/** Cursors of each list, for every session where the list is one of a session. */
export async function readCursors(api: string, operation: Operation, { sessions }: Furniture): Promise<string[]> {
  if (operation.method !== 'GET' || !operation.parameters.some(({ name }) => name === 'cursor')) return [];
  const paths = [...new Set(sessions.map((id) => operation.path.replace('{id}', id)))].slice(0, 12);
  const pages = await Promise.all(paths.map((path) => read<{ next_cursor?: string }>(`${api}${path}?limit=1`)));
  return pages.flatMap(({ next_cursor }) => next_cursor ?? []);
}
