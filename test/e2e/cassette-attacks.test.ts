/** A cassette that turns against the service that runs it: it is kept from what its evidence says it is kept from, and from nothing else. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { CassetteEvidence } from '../../core/cassette/evidence.ts';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { plainTurn } from '../support/post-turns.ts';
import type { Json } from '../support/read-api.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEmbeddedDatabase, sessionsOf } from '../support/whole-service.ts';

const TOKEN = 'evidence-is-for-operators';

/** Each path is an attempt; the answer says what came of it. */
const BEFORE = `
  const tried = async (work) => {
    try {
      return json({ done: (await work()) ?? true });
    } catch (error) {
      return json({ refused: String(error.cause?.code || error.code || error.message) });
    }
  };
  const params = Object.fromEntries(searchParams);
  const { method, body } = params;
  const init = () => ({ method, ...(body ? { body, headers: { 'content-type': 'application/json' } } : {}) });
  if (path.endsWith('/signal')) return tried(() => process.kill(Number(params.pid), params.signal));
  if (path.endsWith('/signal-parent')) return tried(() => process.ppid > 0 && process.kill(process.ppid, params.signal));
  if (path.endsWith('/fetch')) return tried(async () => (await fetch(params.url, init())).status);
  if (path.endsWith('/ask-core')) return tried(async () => (await env.CORE.fetch(params.url, init())).status);
`;
const BINDINGS: Record<string, string[]> = { walled: ['core'], networked: ['core', 'network'] };
const NAMES = Object.keys(BINDINGS);

const attempt = async ({ api }: Service, name: string, path: string, params: Record<string, string>): Promise<Json> =>
  read<Json>(`${api}/v1/cassettes/${name}/${path}?${new URLSearchParams(params)}`);

onEmbeddedDatabase(
  'a cassette against its service',
  (test) => {
    const evidence: Record<string, CassetteEvidence['cassettes'][number]> = {};
    const stops = (name: string, words: string): boolean => {
      const { confinement_stops = [], confinement_does_not_stop = [] } = evidence[name] ?? {};
      const stopped = confinement_stops.some((claim) => claim.includes(words));
      assert.is.not(
        stopped,
        confinement_does_not_stop.some((claim) => claim.includes(words)),
        `${words}: said once`,
      );
      return stopped;
    };

    test.before(async ({ folder, service }) => {
      const entries = NAMES.map(async (name) => {
        const bindings = Object.fromEntries((BINDINGS[name] ?? []).map((binding) => [binding, true]));
        await cassetteFolder({ name, before: BEFORE, manifest: { bindings } }, join(folder, name));
        return { name, source: `./${name}`, grants: { bindings: BINDINGS[name] } };
      });
      await writeFile(
        join(folder, 'cassette.manifest.json'),
        JSON.stringify({ cassettes: await Promise.all(entries) }),
      );
      const headers = { authorization: `Bearer ${TOKEN}` };
      await eventually('both of them to be in', async () => {
        const response = await fetch(`${service.internal}/internal/readiness/evidence`, { headers });
        for (const one of ((await response.json()) as CassetteEvidence).cassettes) evidence[one.name] = one;
        return NAMES.every((name) => evidence[name]?.admission === 'admitted');
      });
    });

    test('evidence calls no confinement full that leaves the network open', () => {
      assert.is(evidence.networked?.confinement, 'partial');
      assert.is.not(stops('networked', 'ports of this one'), true);
      if (evidence.walled?.confinement === 'full') assert.ok(stops('walled', 'ports of this one'));
    });

    test('SIGUSR1 opens no debugger in the service, whoever sends it', async ({ service }) => {
      for (const name of NAMES) {
        await attempt(service, name, 'signal-parent', { signal: 'SIGUSR1' });
        for (const pid of [service.pid, ...Object.values(service.processes())]) {
          const result = await attempt(service, name, 'signal', { pid: `${pid}`, signal: 'SIGUSR1' });
          assert.is('refused' in result, stops(name, 'signals to other processes'), name);
        }
      }
      assert.is((await fetch(`${service.api}/v1/sessions`)).status, 200);
      assert.not.match(service.log(), /Debugger listening/);
    });

    test('it ends neither the service nor whoever started it, where evidence says that it cannot', async ({
      service,
    }) => {
      for (const name of NAMES.filter((one) => stops(one, 'signals to other processes')))
        for (const signal of ['SIGTERM', 'SIGKILL']) {
          for (const pid of [service.pid, ...Object.values(service.processes())])
            assert.ok('refused' in (await attempt(service, name, 'signal', { pid: `${pid}`, signal })), signal);
          await attempt(service, name, 'signal-parent', { signal }).catch(() => {}); // it may end itself
          assert.is((await fetch(`${service.api}/v1/sessions`)).status, 200, `${name} ${signal}`);
        }
    });

    test('it asks neither ingest nor an operator’s action over loopback, unless its evidence says that it can', async ({
      service,
    }) => {
      const { api, ingest, proxy, internal } = service;
      const asks: [path: string, params: Record<string, string>, status: number][] = [
        [`${internal}/internal/readiness/evidence`, { method: 'GET' }, 401],
        [`${proxy}/nothing`, { method: 'GET' }, 404],
        [`${api}/v1/admin/derive/run`, { method: 'POST' }, 200],
        [`${ingest}/v1/ingest`, { method: 'POST', body: plainTurn('planted') }, 202],
      ];
      for (const name of NAMES) {
        const stopped = stops(name, 'ports of this one');
        for (const [url, params, status] of asks) {
          const { done, refused } = await attempt(service, name, 'fetch', { url, ...params });
          if (stopped) assert.ok(refused, `${name} ${url}: ${done}`);
          else if (!url.startsWith(proxy)) assert.is(done, status, `${name} ${url}: ${refused}`);
          else assert.ok(done, `${name} ${url}: ${refused}`);
        }
        if (stopped) assert.equal(await sessionsOf(service), [], 'nothing was planted');
      }
    });

    test('its binding to the read API leads to no action and to no other cassette, network or not', async ({
      service,
    }) => {
      const asks: [url: string, params: Record<string, string>, status: number][] = [
        ['/v1/admin/derive/run', { method: 'POST' }, 405],
        ['/v1/admin/derive/run', { method: 'GET' }, 404],
        ['/v1/sessions/../admin/derive/run', { method: 'POST' }, 405],
        ['/v1/cassettes/networked/hello', { method: 'GET' }, 404],
        ['/v1/mcp', { method: 'POST', body: '{}' }, 405],
        ['/metrics', { method: 'GET' }, 404],
        ['/v1/sessions', { method: 'GET' }, 200],
      ];
      for (const name of NAMES)
        for (const [url, params, status] of asks)
          assert.equal(
            await attempt(service, name, 'ask-core', { url, ...params }),
            { done: status },
            `${name} ${url}`,
          );
    });
    test.run();
  },
  { SVC_INTERNAL_LISTEN: ':0', SVC_INTERNAL_TOKEN: TOKEN },
);
