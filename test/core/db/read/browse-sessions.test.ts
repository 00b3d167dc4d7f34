/** What GET /v1/browse/sessions finds, against a filter and a sort that do it slowly. */
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Browse, BrowseKey } from '../../../../core/db/read/browse-sessions.ts';
import type { SessionFilter } from '../../../../core/model/browse.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { idOf, insertRollups, insertSessions, insertTraces, instantAt } from '../../../support/projection-rows.ts';

type Trace = { prompt: string; answer: string; model: string; provider: string; kind: 'llm' | 'tool' };
type Rollup = {
  name: string | null;
  title: string | null;
  preview: string | null;
  project: string;
  agent_name: string;
  status: string;
  turns: number;
  tokens: [input: number, output: number];
  cost: string | null;
  parent: number | null;
  forkOf: number | null; // as a transcript has it
};
type Stored = {
  harness: string;
  started: number;
  lasted: number;
  rollup: Rollup | null;
  display_name: string | null;
  starred: boolean;
  forkOf: number | null; // as intake has it
  deleted: boolean;
  traces: Trace[];
};

const one = (...values: string[]) => fc.constantFrom(...values);
const phrase = fc
  .array(
    one(
      'carry',
      'Carrier',
      'src/adder.ts',
      'ADDER',
      '3e45fab',
      'naïve',
      'NAÏF',
      '日本語',
      'x_y',
      "don't",
      '7',
      '—',
      '٣',
    ),
  )
  .map((words) => words.join(' '));
const name = fc.option(phrase);
const stored: fc.Arbitrary<Stored> = fc.record({
  harness: one('claude-code', 'codex'),
  started: fc.nat(20),
  lasted: fc.nat(6),
  rollup: fc.option(
    fc.record({
      name,
      title: name,
      preview: name,
      project: one('', 'atlas', 'engine'),
      agent_name: one('', 'ada', 'bob'),
      status: one('completed', 'failed', 'abandoned', 'interrupted', 'unknown'),
      turns: fc.nat(3),
      tokens: fc.constantFrom<[number, number][]>([0, 0], [1, 2], [2, 1], [5_000_000_000, 7]),
      cost: fc.option(one('0', '0.5', '0.50', '0.000000001', '12')),
      parent: fc.option(fc.nat(3)),
      forkOf: fc.option(fc.nat(3)),
    }),
  ),
  display_name: name,
  starred: fc.boolean(),
  forkOf: fc.option(fc.nat(3)),
  deleted: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  traces: fc.array(
    fc.record({
      prompt: phrase,
      answer: phrase,
      model: one('opus', 'llama3'),
      provider: one('anthropic', 'ollama'),
      kind: fc.constantFrom('llm', 'llm', 'tool'),
    }),
    { maxLength: 3 },
  ),
});

const every: SessionFilter = {
  text: null,
  project: null,
  agent_name: null,
  model: null,
  provider: null,
  harness_id: null,
  harness_session_id: null,
  status: null,
  parent_session_id: null,
  fork_of_session_id: null,
  starred: null,
  since: null,
  until: null,
};
const filters: { [Name in keyof SessionFilter]: fc.Arbitrary<NonNullable<SessionFilter[Name]>> } = {
  text: fc.array(one('carr', 'CARRIER', 'adder', 'ts', '3e4', 'naï', 'Naïve', '日', 'y', 'don', 't', '7', 'nowhere'), {
    minLength: 1,
    maxLength: 3,
  }),
  project: one('atlas', 'engine', 'nowhere', 'a\u0000'),
  agent_name: one('ada', 'bob', 'nobody'),
  model: one('opus', 'llama3', 'none', '\uD800'),
  provider: one('anthropic', 'ollama', 'none'),
  harness_id: one('claude-code', 'codex', 'none'),
  harness_session_id: one('harness-session-0', 'harness-session-2', 'none', '\uD800'),
  status: fc
    .subarray(['completed', 'failed', 'abandoned', 'interrupted', 'unknown'] as const, { minLength: 1 })
    .map((some) => [...some]),
  parent_session_id: fc.nat(3).map((n) => idOf('session', n)),
  fork_of_session_id: fc.nat(3).map((n) => idOf('session', n)),
  starred: fc.boolean(),
  since: fc.nat(24).map(instantAt),
  until: fc.nat(24).map(instantAt),
};
const alone = fc.oneof(
  ...(Object.keys(filters) as (keyof SessionFilter)[]).map((key) =>
    filters[key].map((value): SessionFilter => ({ ...every, [key]: value })),
  ),
);
const combined = fc.record(filters, { requiredKeys: [] }).map((some): SessionFilter => ({ ...every, ...some }));
const sort = fc.constantFrom(
  ...(['last_active', 'started_at', 'turn_count', 'total_cost', 'total_tokens', 'duration'] as const),
);
const direction = fc.constantFrom(...(['desc', 'asc'] as const));
const order = fc.record({ sort, direction });

databaseSuite('browseSessions', (test, database) => {
  const ids = async (query: Omit<Browse, 'after' | 'limit'>, limit = 200, after: BrowseKey | null = null) => {
    const { sessions, next } = await database().execute('browseSessions', { ...query, after, limit });
    return { found: sessions.map(({ id }) => id), next };
  };

  test('any filter in any order finds what a slow one finds, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stored, { maxLength: 12 }),
        fc.array(fc.record({ filter: fc.oneof(alone, combined, fc.constant(every)), order }), {
          minLength: 8,
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 5 }),
        async (sessions, questions, limit) => {
          await put(database(), sessions);
          for (const { filter, order } of questions) {
            const expected = slowly(sessions, filter, order);
            assert.equal((await ids({ filter, ...order })).found, expected, JSON.stringify({ filter, order }));
            const seen: string[] = [];
            for (let after: BrowseKey | null = null; ; ) {
              const page: Awaited<ReturnType<typeof ids>> = await ids({ filter, ...order }, limit, after);
              assert.ok(page.found.length <= limit);
              seen.push(...page.found);
              after = page.next;
              if (after === null) break;
            }
            assert.equal(seen, expected, `in pages of ${limit}: ${JSON.stringify({ filter, order })}`);
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  test('each filter alone, each order both ways', async () => {
    const sessions = fc.sample(fc.array(stored, { minLength: 30, maxLength: 30 }), { numRuns: 1, seed: 7 })[0] ?? [];
    await put(database(), sessions);
    for (const key of Object.keys(filters) as (keyof SessionFilter)[])
      for (const value of fc.sample<unknown>(filters[key], { numRuns: 12, seed: 7 })) {
        const filter = { ...every, [key]: value };
        const order = { sort: 'last_active', direction: 'desc' } as const;
        assert.equal((await ids({ filter, ...order })).found, slowly(sessions, filter, order), `${key} ${value}`);
      }
    for (const sort of Object.keys(PLACES) as Browse['sort'][])
      for (const direction of ['desc', 'asc'] as const)
        assert.equal(
          (await ids({ filter: every, sort, direction })).found,
          slowly(sessions, every, { sort, direction }),
          `${sort} ${direction}`,
        );
  });

  test('facets count the sessions that each value would find, whatever the field itself is filtered by', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stored, { maxLength: 12 }),
        fc.array(fc.oneof(alone, combined, fc.constant(every)), { minLength: 4, maxLength: 6 }),
        async (sessions, questions) => {
          await put(database(), sessions);
          for (const filter of questions)
            for (const field of ['project', 'agent_name', 'model', 'provider', 'harness_id'] as const) {
              const values = [...new Set(sessions.flatMap((session) => valuesOf(session, field)))].filter((one) => one);
              const expected = values.flatMap((value) => {
                const found = sessions.filter((session, n) => matches(session, n, { ...filter, [field]: value }));
                const last = Math.max(...found.map(({ started, lasted }) => started + lasted));
                return found.length > 0 ? [{ value, sessions: found.length, last_seen_at: instantAt(last) }] : [];
              });
              expected.sort((a, b) => b.sessions - a.sessions || (a.value < b.value ? -1 : 1));
              const query = { field, filter, limit: 200 };
              assert.equal(await database().execute('browseFacets', query), expected, JSON.stringify(query));
              const [first] = expected;
              assert.equal(await database().execute('browseFacets', { ...query, limit: 1 }), first ? [first] : []);
            }
        },
      ),
      { numRuns: 12 },
    );
  });

  test('a session counts its forks and those that it started, without deleted ones and itself', async () => {
    const sessions = fc.sample(fc.array(stored, { minLength: 40, maxLength: 40 }), { numRuns: 1, seed: 9 })[0] ?? [];
    await put(database(), sessions);
    for (const [n, { deleted }] of sessions.slice(0, 5).entries()) {
      const session_id = idOf('session', n);
      const session = await database().execute('readSession', { session_id });
      if (deleted) continue;
      const others = sessions.filter((one, other) => !one.deleted && other !== n);
      assert.equal(
        [session?.forks ?? 0, session?.children ?? 0],
        [
          others.filter((one) => originOf(one) === session_id).length,
          others.filter(({ rollup }) => sessionOf(rollup?.parent ?? null) === session_id).length,
        ],
        `session ${n}`,
      );
    }
  });

  test('a session has its place as soon as it is stored, and follows its rollup', async () => {
    await database().reset();
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    const byTurns = { filter: every, sort: 'turn_count', direction: 'desc' } as const;
    assert.equal((await ids(byTurns)).found, [idOf('session', 2), idOf('session', 1)]);
    await insertRollups(database(), [{ n: 1, trace_count: 1 }]);
    assert.equal((await ids(byTurns)).found, [idOf('session', 1), idOf('session', 2)]);
    await database().sql('update svc.session_rollups set trace_count = 0');
    assert.equal((await ids(byTurns)).found, [idOf('session', 2), idOf('session', 1)]);
    for (const removal of ['delete from svc.session_rollups', 'truncate svc.session_rollups']) {
      await database().sql('delete from svc.session_rollups');
      await insertRollups(database(), [{ n: 1, trace_count: 5 }]);
      assert.equal((await ids(byTurns)).found, [idOf('session', 1), idOf('session', 2)]);
      await database().sql(removal);
      assert.equal((await ids(byTurns)).found, [idOf('session', 2), idOf('session', 1)], removal);
    }
    await database().sql(`delete from svc.sessions where session_id = $1`, [idOf('session', 1)]);
    assert.equal(await database().sql('select session_id from svc.session_totals'), [
      { session_id: idOf('session', 2) },
    ]);
  });

  test('sums that no bigint holds, instants far apart and words of any length are stored and found', async () => {
    await database().reset();
    await insertSessions(database(), [
      { n: 1, started_at: '1970-01-01T00:00:00Z', last_seen_at: '9999-12-31T23:59:59.999999Z' },
      { n: 2, started_at: '1970-01-01T00:00:00Z', last_seen_at: '9999-12-31T23:59:59.999998Z' },
      { n: 3 },
    ]);
    await insertRollups(database(), [
      { n: 1, input_tokens: '9223372036854775807', output_tokens: '9223372036854775806', title: 'x'.repeat(5000) },
      { n: 2, input_tokens: '9223372036854775807', output_tokens: '9223372036854775807', title: '語'.repeat(99_999) },
    ]);
    for (const sort of ['total_tokens', 'duration'] as const) {
      const query = { filter: every, sort, direction: 'asc' } as const;
      const whole = (await ids(query)).found;
      assert.equal(
        whole,
        [3, ...(sort === 'duration' ? [2, 1] : [1, 2])].map((n) => idOf('session', n)),
      );
      const { found, next } = await ids(query, 2);
      assert.equal([...found, ...(await ids(query, 2, next)).found], whole);
    }
    const titled = (word: string) =>
      ids({ filter: { ...every, text: [word] }, sort: 'last_active', direction: 'desc' });
    assert.equal((await titled('X'.repeat(5000))).found, [idOf('session', 1)]);
    assert.equal((await titled('語'.repeat(101))).found, [idOf('session', 2)]);
  });
});

/** In place of all that was there. */
const sessionOf = (n: number | null): string | null => (n === null ? null : idOf('session', n));

async function put(database: TestDatabase, sessions: readonly Stored[]): Promise<void> {
  await database.reset();
  await insertSessions(
    database,
    sessions.map(({ harness, started, lasted, forkOf }, n) => ({
      n,
      harness_id: harness,
      fork_of_session_id: sessionOf(forkOf),
      started_at: instantAt(started),
      last_seen_at: instantAt(started + lasted),
    })),
  );
  await insertRollups(
    database,
    sessions.flatMap(({ rollup }, n) => {
      if (!rollup) return [];
      const { turns, tokens, cost, parent, forkOf, ...columns } = rollup;
      const related = { parent_session_id: sessionOf(parent), fork_of_session_id: sessionOf(forkOf) };
      const [input_tokens, output_tokens] = tokens;
      const use = { model: 'opus', price: null, calls: 1, input_tokens, output_tokens, cost_usd: cost };
      return [
        {
          ...{ n, ...columns, ...related, trace_count: turns, input_tokens, output_tokens },
          ...{ cost_usd: cost ?? '0', model_usage: [use] },
        },
      ];
    }),
  );
  const traces = sessions.flatMap(({ traces }, session) => traces.map((trace) => ({ session, ...trace })));
  await insertTraces(
    database,
    traces.map(({ session, prompt, answer }, n) => ({ n, session, user_prompt: prompt, response_preview: answer })),
  );
  await database.sql(
    `insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, model, provider, started_at)
     select trace_id, span_id, session_id, 0, kind, '', model, provider, now()
       from jsonb_to_recordset($1::jsonb) as r (trace_id uuid, span_id uuid, session_id uuid, kind text, model text, provider text)`,
    [
      JSON.stringify(
        traces.map(({ session, kind, model, provider }, n) => ({
          ...{ kind, model, provider },
          ...{ trace_id: idOf('trace', n), span_id: idOf('span', n), session_id: idOf('session', session) },
        })),
      ),
    ],
  );
  await database.sql(
    `insert into svc.session_edits (session_id, display_name, starred_at, deleted_at)
     select session_id, display_name, case when starred then now() end, case when deleted then now() end
       from jsonb_to_recordset($1::jsonb) as r (session_id uuid, display_name text, starred boolean, deleted boolean)`,
    [
      JSON.stringify(
        sessions.flatMap(({ display_name, starred, deleted }, n) =>
          display_name === null && !starred && !deleted
            ? []
            : [{ session_id: idOf('session', n), display_name, starred, deleted }],
        ),
      ),
    ],
  );
}

type Field = 'project' | 'agent_name' | 'model' | 'provider' | 'harness_id';

const valuesOf = ({ harness, rollup, traces }: Stored, field: Field): string[] => {
  if (field === 'harness_id') return [harness];
  if (field === 'model' || field === 'provider')
    return traces.filter(({ kind }) => kind === 'llm').map((trace) => trace[field]);
  return rollup ? [rollup[field]] : [];
};

/** A number for each order; null comes last. */
const PLACES: Record<Browse['sort'], (session: Stored) => number | null> = {
  last_active: ({ started, lasted }) => started + lasted,
  started_at: ({ started }) => started,
  duration: ({ lasted }) => lasted,
  turn_count: ({ rollup }) => rollup?.turns ?? 0,
  total_tokens: ({ rollup }) => (rollup ? rollup.tokens[0] + rollup.tokens[1] : 0),
  total_cost: ({ rollup }) => (rollup && rollup.cost !== null ? Number(rollup.cost) : null),
};

function slowly(
  sessions: readonly Stored[],
  filter: SessionFilter,
  { sort, direction }: Pick<Browse, 'sort' | 'direction'>,
) {
  const way = direction === 'desc' ? -1 : 1;
  return sessions
    .map((session, n) => ({ session, n, place: PLACES[sort](session) }))
    .filter(({ session, n }) => matches(session, n, filter))
    .sort((a, b) => {
      if (a.place === b.place) return way * (a.n - b.n);
      if (a.place === null || b.place === null) return a.place === null ? 1 : -1;
      return way * (a.place - b.place);
    })
    .map(({ n }) => idOf('session', n));
}

const originOf = ({ forkOf, rollup }: Stored): string | null => sessionOf(forkOf ?? rollup?.forkOf ?? null);

function matches(
  session: Stored,
  n: number,
  { text, since, until, status, starred, ...equal }: SessionFilter,
): boolean {
  const { rollup, traces, display_name, harness, started, lasted } = session;
  const texts = [
    rollup?.name,
    rollup?.title,
    rollup?.preview,
    display_name,
    ...traces.flatMap((t) => [t.prompt, t.answer]),
  ];
  const words = texts
    .join(' ')
    .toLowerCase()
    .split(/[^\p{Alphabetic}0-9]+/u);
  const calls = traces.filter(({ kind }) => kind === 'llm');
  return (
    !session.deleted &&
    (text ?? []).every((sought) => words.some((word) => word.startsWith(sought.toLowerCase()))) &&
    (since === null || instantAt(started + lasted) >= since) &&
    (until === null || instantAt(started) < until) &&
    (status ?? [rollup?.status ?? 'unknown']).includes((rollup?.status ?? 'unknown') as 'unknown') &&
    (starred === null || session.starred === starred) &&
    (equal.parent_session_id === null || sessionOf(rollup?.parent ?? null) === equal.parent_session_id) &&
    (equal.fork_of_session_id === null || originOf(session) === equal.fork_of_session_id) &&
    (equal.project === null || rollup?.project === equal.project) &&
    (equal.agent_name === null || rollup?.agent_name === equal.agent_name) &&
    (equal.harness_id === null || harness === equal.harness_id) &&
    (equal.harness_session_id === null || `harness-session-${n}` === equal.harness_session_id) &&
    (equal.model === null || calls.some(({ model }) => model === equal.model)) &&
    (equal.provider === null || calls.some(({ provider }) => provider === equal.provider))
  );
}
