/** What does the line after a run say? */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { recordedLine, recordedSessions } from '../../../../core/cli/start/recorded.ts';
import { type Session, sessionExample } from '../../../../core/model/session.ts';

const test = suite('the line after svc start');
const API = 'http://localhost:8081';
const config = { web_ui: true, base_path: '', token: 'secret' };
const session = (more: Partial<Session> = {}): Session => ({ ...(sessionExample as unknown as Session), ...more });
const line = (sessions: Session[], ui = config) => recordedLine({ sessions, settled: true, ofAll: false }, API, ui);

async function serviceThatReplies(body: (url: string) => object) {
  const service = createServer(({ url = '' }, response) =>
    response.end(JSON.stringify(url === '/ping' ? 'pong' : body(url))),
  ).listen(0, '127.0.0.1');
  await once(service, 'listening');
  return { service, api: `http://127.0.0.1:${(service.address() as AddressInfo).port}` };
}

test('id, title, turns, tokens, cost and address, without the token', () => {
  assert.is(
    line([session()]),
    `recorded 7d1c9f9e · Fix the carry in the adder · 1 turn · 187,321 tokens · $0.21 · ${API}/sessions/${sessionExample.id}`,
  );
  assert.not.match(line([session()], { ...config, web_ui: false }), API);
  assert.match(line([session()], { ...config, base_path: '/svc' }), `${API}/svc/sessions/`);
});

test('several sessions are the newest and a count; those that it started itself are its own', () => {
  const [second, third] = ['00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003'];
  assert.match(line([session(), session({ id: second })]), / · and one other$/);
  assert.match(line([session(), session({ id: second }), session({ id: third })]), / · and 2 others$/);
  assert.not.match(line([session({ id: second, parent_session_id: sessionExample.id }), session()]), 'other');
});

test('of a program whose calls do not name the run, it is what all programs recorded', () => {
  const all = recordedLine({ sessions: [session()], settled: true, ofAll: true }, API, config);
  assert.match(all, /^recorded meanwhile, by any program: 7d1c9f9e · /);
});

test('two sessions of a harness whose calls do not name their run may be of two runs, one is of this one', async () => {
  const own = session({ harness_id: 'codex', cwd: '/work', last_seen_at: '2026-11-30T10:00:05.000000Z' });
  const of = (name: string, more: Partial<Session> = {}) => ({
    ...own,
    id: `00000000-0000-4000-8000-00000000000${name}`,
    ...more,
  });
  let items: Session[] = [];
  const settled = { journal: { oldest_seconds: 0 }, derive: { queued: 0 } };
  const { service, api } = await serviceThatReplies((url) => (url.startsWith('/v1/sessions') ? { items } : settled));
  const recorded = async (sessions: Session[]) => {
    items = sessions;
    return recordedSessions({
      ...{ api, token: '', run: { id: 'run', startedAt: Date.parse('2026-11-30T10:00:00Z') } },
      ...{ hasEnvelope: false, harnessId: 'codex', cwd: '/work' },
    });
  };
  try {
    const earlier = of('4', { last_seen_at: '2026-11-30T09:59:59.000000Z' });
    const elsewhere = of('5', { cwd: '/other' });
    for (const [sessions, ofAll] of [
      [[own], false],
      [[own, of('2', { parent_session_id: own.id })], false],
      [[own, earlier, elsewhere], false],
      [[own, of('3')], true],
    ] as const)
      assert.is((await recorded([...sessions]))?.ofAll, ofAll, `${sessions.length} sessions`);
  } finally {
    service.close();
  }
});

test('what others send on a busy service is not waited for, what the run itself sent is', async () => {
  const since = performance.now();
  const age = () => (performance.now() - since) / 1000;
  const busy = { oldest_seconds: 0.004 };
  const states: { state: () => object; settled: boolean }[] = [
    { state: () => ({ journal: busy, derive: { queued: 3, lag_seconds: 0.05 } }), settled: true },
    { state: () => ({ journal: busy, derive: { queued: 1, lag_seconds: age() + 60 } }), settled: false },
    {
      state: () => ({ journal: { oldest_seconds: age() + 60 }, derive: { queued: 0, lag_seconds: 0 } }),
      settled: false,
    },
  ];
  await Promise.all(
    states.map(async ({ state, settled }) => {
      const { service, api } = await serviceThatReplies((url) =>
        url.startsWith('/v1/sessions') ? { items: [] } : state(),
      );
      const query = { api, token: '', run: { id: 'run', startedAt: 0 }, hasEnvelope: true, harnessId: null, cwd: '/' };
      const recorded = await recordedSessions(query).finally(() => service.close());
      assert.is(recorded?.settled, settled, JSON.stringify(state()));
    }),
  );
});

test('a service that began with the run is given the time to read its journal', async () => {
  const startedAt = Date.now();
  const since = performance.now();
  const hasRead = () => performance.now() - since > 1_000;
  const status = () => ({
    uptime_seconds: (Date.now() - startedAt - 50) / 1000,
    journal: { oldest_seconds: 0 },
    derive: { queued: 0 },
  });
  const { service, api } = await serviceThatReplies((url) =>
    url.startsWith('/v1/sessions')
      ? { items: hasRead() ? [session({ harness_metadata: { svc_start: 'run' } })] : [] }
      : status(),
  );
  const query = { api, token: '', run: { id: 'run', startedAt }, hasEnvelope: true, harnessId: null, cwd: '/' };
  const recorded = await recordedSessions(query).finally(() => service.close());
  assert.equal([recorded?.settled, recorded?.sessions.length], [true, 1]);
});

test('a title is one line that does nothing to the terminal; a cost may be unknown in part or whole', () => {
  assert.match(line([session({ display_title: `a\n\u001b[31mb${'x'.repeat(99)}` })]), /· a \ufffd\[31mbx+… ·/);
  const costing = (cost_usd: number | null, unpriced_models: string[]) => {
    const { rollup } = session();
    return line([session({ rollup: { ...rollup, usage: { ...rollup.usage, cost_usd, unpriced_models } } })]);
  };
  assert.match(costing(null, ['own']), ' · cost unknown · ');
  assert.match(costing(0.01234, ['own']), ' · at least $0.0123 · ');
});

test('what is not derived to its end has no figures, and the line that shows it later', () => {
  const rollup = { ...session().rollup, turn_count: 0 };
  const unfinished = { sessions: [session({ rollup })], settled: false, ofAll: false };
  const expected = "recorded 7d1c9f9e · not worked out yet: 'svc sessions show 7d1c9f9e' shows it soon";
  assert.is(recordedLine(unfinished, API, config), expected);
  const other = session({ id: '00000000-0000-4000-8000-000000000002' });
  const both = { ...unfinished, sessions: [session({ rollup }), other] };
  assert.is(recordedLine(both, API, config), `${expected} · and one other`);
});

test('figures of a session on a service that has more to do are those so far', () => {
  const line = recordedLine({ sessions: [session()], settled: false, ofAll: false }, API, config);
  assert.match(line, / · so far · /);
});

test('nothing, and nothing yet', () => {
  assert.is(
    recordedLine({ sessions: [], settled: true, ofAll: false }, API, config),
    'nothing to show: no call came through the proxy, or only to sessions that are deleted',
  );
  assert.is(recordedLine({ sessions: [], settled: false, ofAll: false }, API, config), 'nothing is recorded yet');
});

test.run();
