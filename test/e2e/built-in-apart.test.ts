/** Do the three that come with the service need any more than others can have? Each in a process of its own, and each alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { findSystemSupport } from '../../core/cassette/isolation/confinement.ts';
import { skillTextProblems } from '../support/agent-skills.ts';
import { builtProgram } from '../support/built-service.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { startEmbedder } from '../support/embedding-server.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import type { Json } from '../support/read-api.ts';
import { claimOfEachRecord, startScriptedLlm } from '../support/scripted-llm.ts';
import { emptyFolder, eventually, read, type Service, startService } from '../support/serve.ts';

const TOKEN = 'of-the-operator';
const GRANTS = {
  export: { bindings: ['db'], views: ['sessions', 'spans', 'span_turns', 'span_links'] },
  search: {
    bindings: ['db', 'core', 'network'],
    views: ['spans', 'span_turns', 'session_changes'],
    extensions: ['vector'],
  },
  skills: { bindings: ['db', 'core', 'network', 'forward_auth'] },
};

let built: Promise<string> | undefined;
const folders: string[] = [];
const made = async (withDatabase = false) => {
  const folder = await (withDatabase ? folderWithDatabase() : emptyFolder());
  folders.push(folder);
  return folder;
};
const program = () => {
  built ??= made().then((folder) => builtProgram(join(folder, 'svc')));
  return built;
};

type Stand = {
  dsn: string;
  service: Service;
  embedder: Awaited<ReturnType<typeof startEmbedder>>;
  llm: Awaited<ReturnType<typeof startScriptedLlm>>;
};

const today = () => new Date().toISOString().slice(0, 10);

function inProcesses(name: string, open: () => Promise<{ dsn: string; drop(): Promise<unknown> }>): void {
  const test: Test<Stand> = suite<Stand>(`cassettes of ours in processes of their own (${name})`);
  const undo: (() => Promise<unknown>)[] = [];
  test.before(async (context) => {
    const { dsn, drop } = await open();
    undo.unshift(drop);
    const embedder = await startEmbedder();
    undo.unshift(embedder.close);
    const llm = await startScriptedLlm(claimOfEachRecord);
    undo.unshift(llm.close);
    const folder = await made(dsn === '');
    const cassettes = Object.entries(GRANTS).map(([name, grants]) => ({
      ...{ name, source: 'built-in', isolation: 'process', grants },
      ...(name === 'skills' ? { config: { 'llm.base_url': llm.url } } : {}),
    }));
    await writeFile(join(folder, 'cassette.manifest.json'), JSON.stringify({ cassettes }));
    const env = {
      SVC_CASSETTES_BUILT_IN: 'true',
      SVC_EMBEDDING_PROVIDER: 'openai',
      SVC_EMBEDDING_TARGET: `${embedder.url}/v1`,
      SVC_CASSETTE_SKILLS_LLM_API_KEY: 'key-of-the-model',
      SVC_INTERNAL_LISTEN: '127.0.0.1:0',
      SVC_INTERNAL_TOKEN: TOKEN,
      ...(dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn }),
    };
    const service = await startService(folder, env, [await program()]);
    undo.unshift(() => service.stop());
    Object.assign(context, { dsn, service, embedder, llm });
    assert.is((await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
  });
  test.after(async () => {
    for (const step of undo) await step();
  });

  test('all are in, and the evidence tells how far each is kept apart', async ({ service: { api, internal } }) => {
    await eventually('all of them', async () => {
      const { cassettes } = await read<Json>(`${api}/v1/cassettes`);
      return cassettes.every(({ state }: Json) => state === 'admitted');
    });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const evidence = (await (await fetch(`${internal}/internal/readiness/evidence`, { headers })).json()) as Json;
    const { wall } = await findSystemSupport(await made());
    assert.equal(
      evidence.cassettes.map(({ name, isolation, confinement }: Json) => [name, isolation, confinement]),
      [
        ['export', 'process', wall === 'jail' ? 'full' : 'partial'],
        ['search', 'process', 'partial'], // they were granted the network
        ['skills', 'process', 'partial'],
      ],
    );
  });

  test('export: a window and a session, by the promised names, a line for each', async ({ service: { api } }) => {
    const { items } = await read<Json>(`${api}/v1/sessions?limit=200`);
    const exported = async (path: string, filename: string) => {
      const response = await fetch(`${api}/v1/cassettes/export/sessions${path}`);
      assert.equal(
        [response.status, response.headers.get('content-disposition')],
        [200, `attachment; filename="${filename}"`],
      );
      return (await response.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Json);
    };
    const all = await exported('', `sessions-last-30-days-${today()}.jsonl`);
    assert.equal(all.map(({ session }) => session.id).sort(), items.map(({ id }: Json) => id).sort());
    const id = String(items[0].id);
    const [one] = await exported(`/${id}?detail=traces`, `session-${id}-${today()}-traces.jsonl`);
    assert.is(one?.session.id, id);
    assert.ok(one?.traces.length > 0);
  });

  test('search: what is embedded is found, and how far that is can be read', async ({ service: { api } }) => {
    const found = await eventually(
      'the spans are embedded',
      async () => {
        const response = await fetch(`${api}/v1/cassettes/search/spans?query=time%20zone%20test&top_k=3`);
        assert.is(response.status, 200);
        const { count, results } = (await response.json()) as Json;
        return count === 3 && results;
      },
      90_000,
    ); // it looks for what is new twice a minute
    for (const { trace_id, span_id } of found)
      assert.is((await fetch(`${api}/v1/traces/${trace_id}/spans/${span_id}`)).status, 200);
  });

  test('skills: one is made, published, listed and downloaded', async ({ service: { api } }) => {
    const base = `${api}/v1/cassettes/skills`;
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) });
      assert.is(response.status, 201, await response.clone().text());
      return (await response.json()) as Json;
    };
    const { id, slug } = await post('', { name: 'Harbour time', description: 'About clocks', content: '# Clocks' });
    const published = await post(`/${id}/versions`, {});
    assert.is(published.versionNumber, 1, JSON.stringify(published));
    assert.ok((await read<Json>(base)).items.some((one: Json) => one.id === id));
    const response = await fetch(`${base}/${id}/skill.md`);
    assert.is(response.status, 200);
    assert.equal(skillTextProblems(await response.text(), slug), []);
  });

  test('skills: one is generated from what the read API tells of a session', async ({ service: { api }, llm }) => {
    const { items } = await read<Json>(`${api}/v1/sessions`);
    const body = JSON.stringify({ sessionIds: [items[0].id] });
    const response = await fetch(`${api}/v1/cassettes/skills/generate`, { method: 'POST', body });
    assert.is(response.status, 201, await response.clone().text());
    assert.ok(((await response.json()) as Json).claims.length > 0);
    assert.is(llm.requests[0]?.authorization, 'Bearer key-of-the-model');
  });

  if (name === 'server') declareAlone(test);
  test.run();
}

/** On listeners of their own, beside the service and on its database. */
function declareAlone(test: Test<Stand>): void {
  test('export alone: 200 with its database, the same lines as in the service', async ({ service: { api }, dsn }) => {
    await alone('export', { SVC_DATABASE_URL: dsn }, async (base) => {
      const response = await fetch(`${base}/api/export/sessions`);
      assert.equal(
        [response.status, response.headers.get('content-disposition')],
        [200, `attachment; filename="sessions-last-30-days-${today()}.jsonl"`],
      );
      const mounted = await fetch(`${api}/v1/cassettes/export/sessions`);
      assert.is(await response.text(), await mounted.text());
    });
  });

  test('search alone: it finds what was embedded in the service', async ({ service: { api }, dsn, embedder }) => {
    const path = 'search/spans?query=time%20zone%20test&top_k=3';
    const env = {
      SVC_DATABASE_URL: dsn,
      SVC_EMBEDDING_PROVIDER: 'openai',
      SVC_EMBEDDING_TARGET: `${embedder.url}/v1`,
    };
    // the first three that were found need not be all: until the rest is in, two answers may differ
    await eventually(
      'all spans to be embedded',
      async () => (await read<Json>(`${api}/v1/cassettes/${path}`)).coverage.pending === 0,
    );
    await alone('search', env, async (base) => {
      const response = await fetch(`${base}/api/${path}`);
      assert.is(response.status, 200, await response.clone().text());
      const mounted = await read<Json>(`${api}/v1/cassettes/${path}`);
      assert.is(mounted.count, 3);
      const { coverage, ...found } = mounted;
      assert.is(coverage.pending, 0, 'who embeds says how much is in');
      assert.equal(await response.json(), found);
    });
  });

  test('skills alone: it has the same skills, and generates with SVC_CORE_URL', async ({ service, dsn, llm }) => {
    const { items } = await read<Json>(`${service.api}/v1/sessions`);
    const post = { method: 'POST', body: JSON.stringify({ sessionIds: [items[0].id] }) };
    const key = { SVC_CASSETTE_SKILLS_LLM_API_KEY: 'key-of-the-model', SVC_CASSETTE_SKILLS_LLM_BASE_URL: llm.url };
    await alone('skills', { SVC_DATABASE_URL: dsn, ...key }, async (base) => {
      const mounted = await read<Json>(`${service.api}/v1/cassettes/skills`);
      assert.ok(mounted.items.length > 0);
      assert.equal(await read<Json>(`${base}/api/skills`), mounted);
      const made = await fetch(`${base}/api/skills`, {
        method: 'POST',
        body: JSON.stringify({ name: 'Alone', description: 'Made there', content: '# Alone' }),
      });
      assert.is(made.status, 201);
      const { id } = (await made.json()) as Json;
      assert.is((await fetch(`${service.api}/v1/cassettes/skills/${id}`)).status, 200);
      const refused = await fetch(`${base}/api/skills/generate`, post);
      assert.equal([refused.status, ((await refused.json()) as Json).code], [501, 'no-core']);
    });
    await alone('skills', { SVC_DATABASE_URL: dsn, SVC_CORE_URL: service.api, ...key }, async (base) => {
      const response = await fetch(`${base}/api/skills/generate`, post);
      assert.is(response.status, 201, await response.clone().text());
    });
  });

  test('without a database: export and skills answer 501, search 503, and all are there', async () => {
    const statuses = { 'export/sessions': 501, skills: 501, 'search/spans?query=x': 503 };
    for (const [path, status] of Object.entries(statuses)) {
      const [name = ''] = path.split('/');
      await alone(name, {}, async (base) => {
        assert.is((await fetch(`${base}/ping`)).status, 200);
        const response = await fetch(`${base}/api/${path}`);
        const { error, detail } = (await response.json()) as Json;
        assert.equal([response.status, error], [status, detail], path);
      });
    }
  });
}

/** `svc cassette serve` as it was built, for as long as `use` takes. */
async function alone(name: string, env: Record<string, string>, use: (base: string) => Promise<void>): Promise<void> {
  const folder = await made();
  const child = spawn(process.execPath, [await program(), 'cassette', 'serve', name, '--listen', '127.0.0.1:0'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  try {
    const base = await eventually(`${name} alone`, async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${output}`);
      return /answers at (http:\/\/\S+?)\/api/.exec(output)?.[1];
    });
    await use(base);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
  assert.is(child.exitCode, 0, output);
}

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
inProcesses('embedded', async () => ({ dsn: '', drop: async () => {} }));
const cluster = process.env.SVC_TEST_DSN;
if (cluster) inProcesses('server', () => emptyServerDatabase(cluster));
