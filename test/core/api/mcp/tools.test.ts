/** The tools, over a socket: what an agent is told of the demo sessions, in every version of the protocol that is promised. */
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import * as assert from 'uvu/assert';
import { coreTools } from '../../../../core/api/mcp/core-tools.ts';
import { type Served, serveApp } from '../../../../core/http/listen.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { demoApi } from '../../../support/demo-api.ts';
import { indexAll } from '../../../support/index-all.ts';
import { connectMcp, type McpClient } from '../../../support/mcp.ts';
import type { Json } from '../../../support/read-api.ts';

const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25'];
const NOBODY = '7d1c9f9e-2f0a-4f0e-9a55-0d3b5a3f4c10';
const BUG = 'departs today';

databaseSuite('MCP tools', (test, database) => {
  let served: Served;
  let api = '';
  let mcp: McpClient;
  test.before(async () => {
    const app = await demoApi(database());
    await indexAll(database());
    served = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
    api = served.addresses[0] ?? '';
    mcp = await connectMcp(api);
  });
  test.after(async () => {
    await mcp.close();
    await served.close(0);
  });

  const read = async (path: string): Promise<Json> => (await fetch(`${api}${path}`)).json();
  const resultOf = async (name: string, args: Record<string, unknown> = {}): Promise<Json> => {
    const { structured, isError, text } = await mcp.call(name, args);
    assert.not.ok(isError, text);
    return structured;
  };
  const refused = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const { structured, isError, text } = await mcp.call(name, args);
    assert.ok(isError, `${name} ${JSON.stringify(args)}`);
    assert.is(structured, null);
    return text;
  };
  const theBug = async (): Promise<Json> => (await resultOf('svc_sessions', { text: BUG })).sessions[0];
  const theCall = async (): Promise<Json> => {
    const [turn] = (await resultOf('svc_session', { session_id: (await theBug()).id })).turns;
    const { spans } = await read(`/v1/traces/${turn.trace_id}`);
    return spans.findLast(({ kind, call_kind }: Json) => kind === 'llm' && call_kind === 'main');
  };
  const pages = async (name: string, args: Record<string, unknown>, list: string): Promise<Json[]> => {
    const items: Json[] = [];
    for (let cursor: string | undefined, n = 0; n === 0 || cursor; n++) {
      assert.ok(n < 100, 'it comes to an end');
      const page = await resultOf(name, { ...args, cursor: cursor ?? null });
      items.push(...page[list]);
      cursor = page.next_cursor;
    }
    return items;
  };

  for (const version of VERSIONS)
    test(`in ${version} every tool says in both forms what its schema promises`, async () => {
      const old = await connectMcp(api, { version });
      assert.is(old.version, version);
      const { tools } = await old.client.listTools();
      const names = [
        'svc_sessions',
        'svc_session',
        'svc_trace',
        'svc_context',
        'svc_find',
        'svc_stats',
        'svc_cache',
        'svc_spend',
      ];
      assert.equal(
        tools.map(({ name }) => name),
        names,
      );
      assert.equal(
        coreTools({ execute: database().execute, now: () => 0, takePlace: async () => () => {} }).map(
          ({ name }) => name,
        ),
        names,
      );
      const ajv = addFormats.default(new Ajv({ strict: true, allowUnionTypes: true }));
      const session = await theBug();
      const [turn] = (await resultOf('svc_session', { session_id: session.id })).turns;
      const arguments_: Record<string, Record<string, unknown>[]> = {
        svc_sessions: [{}, { limit: 1 }, { text: 'no such word' }],
        svc_session: [{ session_id: session.id }, { session_id: session.id, order: 'newest', limit: 1 }],
        svc_trace: [{ trace_id: turn.trace_id }, { trace_id: turn.trace_id, detail: 'full' }],
        svc_context: [{ raw_turn_id: (await theCall()).raw_turn_id }, { span_id: (await theCall()).span_id }],
        svc_find: [{ text: 'no such words' }, { text: BUG, in: ['tools'], limit: 1 }],
        svc_stats: [{}, { project: 'no such project' }],
        svc_cache: [{}, { session_id: session.id }, { by: 'harness', since: '2026-07-01' }],
        svc_spend: [{ since: '2026-11-01' }, { since: '2026-11-01', by: 'project' }, { project: 'no such project' }],
      };
      for (const { name, title, description = '', annotations, inputSchema, outputSchema = {} } of tools) {
        assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
        assert.ok(title);
        assert.ok(description.length > 100 && description.length < 600, name);
        assert.equal(annotations, {
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false,
        });
        const [takes, promises] = [ajv.compile(inputSchema), ajv.compile(outputSchema)];
        for (const args of arguments_[name] ?? []) {
          assert.ok(takes(args), `${name} takes ${JSON.stringify(args)}`);
          const { text, structured, isError } = await old.call(name, args);
          assert.not.ok(isError, text);
          assert.ok(promises(structured), `${name}: ${ajv.errorsText(promises.errors)}`);
          const most = 1.5 * Math.max(JSON.stringify(structured).length, 200);
          assert.ok(text.length > 0 && text.length < most, `${name} is told compactly`);
        }
      }
      await old.close();
    });

  test('what filled a call adds up to its input, and leads to what changed since the call before', async () => {
    const { span_id, raw_turn_id, usage } = await theCall();
    const context = await resultOf('svc_context', { span_id });
    assert.equal([context.raw_turn_id, context.input_tokens], [raw_turn_id, usage.input_tokens]);
    const sum = context.parts.reduce((total: number, { tokens }: Json) => total + tokens, context.unattributed_tokens);
    assert.is(sum, usage.input_tokens);
    assert.ok(context.since.changes.length > 0 && context.since.same_blocks > 0);
    assert.match((await mcp.call('svc_context', { raw_turn_id })).text, 'What filled it:');
    assert.match(await refused('svc_context', {}), 'give a span_id from svc_trace');
    assert.match(await refused('svc_context', { span_id: NOBODY }), 'svc_trace lists them');
    assert.is((await resultOf('svc_context', { span_id, raw_turn_id })).raw_turn_id, raw_turn_id);
    assert.match(
      await refused('svc_context', { span_id, raw_turn_id: raw_turn_id + 1 }),
      `Cannot show the context of two calls: the span is of raw turn ${raw_turn_id}`,
    );
    assert.match(await refused('svc_context', { raw_turn_id: 999_999 }), 'no request of that call can be read');
  });

  test('what selects among all conversations is refused with one of them', async () => {
    const { id: session_id } = await theBug();
    assert.match(
      await refused('svc_cache', { session_id, project: 'x', by: 'project' }),
      'Cannot read one conversation by project, by: leave out that, or session_id',
    );
  });

  test('planned breaks of the cache are counted apart, as they are in no loss', async () => {
    let withPlanned = 0;
    for (const { id: session_id } of (await read('/v1/sessions?limit=100')).items) {
      const { text } = await mcp.call('svc_cache', { session_id });
      const { breaks } = await resultOf('svc_cache', { session_id });
      const planned = breaks.filter((one: Json) => one.planned).length;
      const counts = `${breaks.length - planned} breaks, lost [^;]*${planned > 0 ? `; ${planned} more were planned` : ''}`;
      assert.match(text, new RegExp(`^${counts}$`, 'm'));
      withPlanned += planned > 0 ? 1 : 0;
    }
    assert.ok(withPlanned > 0);
  });

  test('sessions are told as the read API has them, those seen last first', async () => {
    const { items } = await read('/v1/sessions');
    const { sessions, next_cursor } = await resultOf('svc_sessions', { limit: 50 });
    assert.is(next_cursor, undefined);
    assert.equal(
      sessions.map(({ id, title, turns, model, input_tokens, cost_usd }: Json) => [
        id,
        title,
        turns,
        model,
        input_tokens,
        cost_usd,
      ]),
      items.map(({ id, display_title, rollup }: Json) => [
        id,
        display_title.length > 120 ? `${display_title.slice(0, 120)}…` : display_title,
        rollup.turn_count,
        rollup.model,
        rollup.usage.input_tokens,
        rollup.usage.cost_usd,
      ]),
    );
    const { text } = await mcp.call('svc_sessions', { limit: 4 });
    assert.match(text, `${sessions[0].id} "The test 'departs today' fails`);
    assert.match(text, 'cost unknown');
    assert.match(text, 'More sessions: the same call with cursor "');
    assert.not.match(text, sessions[4].id);
  });

  test('sessions are found by words, attributes and time', async () => {
    const { sessions: all } = await resultOf('svc_sessions', { limit: 50 });
    const found = async (args: Record<string, unknown>) =>
      (await resultOf('svc_sessions', { limit: 50, ...args })).sessions.map(({ id }: Json) => id);
    const those = (matches: (session: Json) => boolean) => all.filter(matches).map(({ id }: Json) => id);
    assert.is((await found({ text: BUG })).length, 1);
    assert.equal(await found({ text: 'nosuchword' }), []);
    assert.match((await mcp.call('svc_sessions', { text: 'nosuchword' })).text, 'No session matches');
    for (const session of all) {
      assert.equal(
        await found({ harness: session.harness }),
        those(({ harness }) => harness === session.harness),
      );
      assert.equal(
        await found({ status: session.status }),
        those(({ status }) => status === session.status),
      );
      assert.ok((await found({ model: session.model })).includes(session.id));
    }
    const since = all[2].last_seen_at;
    assert.equal(
      await found({ since }),
      those(({ last_seen_at }) => last_seen_at >= since),
    );
    assert.equal(
      await found({ until: all[2].started_at }),
      those(({ started_at }) => started_at < all[2].started_at),
    );
    assert.equal(
      await found({ text: '', project: null, status: null, cursor: '' }),
      those(() => true),
      'empty is absent',
    );
  });

  test('pages of any size give everything once', async () => {
    const { sessions } = await resultOf('svc_sessions', { limit: 50 });
    for (const limit of [1, 2, 6, 7, 50]) assert.equal(await pages('svc_sessions', { limit }, 'sessions'), sessions);
    const { id } = await theBug();
    const { turns } = await resultOf('svc_session', { session_id: id });
    assert.is(turns.length, 2);
    assert.equal(await pages('svc_session', { session_id: id, limit: 1 }, 'turns'), turns);
    const newest = await pages('svc_session', { session_id: id, order: 'newest', limit: 1 }, 'turns');
    assert.equal(newest, turns.reverse());
  });

  test('a session is told turn by turn, with the tools that each used', async () => {
    const { id } = await theBug();
    const { session, turns } = await resultOf('svc_session', { session_id: id });
    assert.is(session.id, id);
    const { traces } = await read(`/v1/sessions/${id}/traces`);
    assert.equal(
      turns.map(({ trace_id, tool_calls, status }: Json) => [trace_id, tool_calls, status]),
      traces.map(({ trace }: Json) => [trace.trace_id, trace.tool_calls, trace.status]),
    );
    assert.equal(turns[0].tools, [
      { name: 'Bash', calls: 3 },
      { name: 'Edit', calls: 2 },
      { name: 'Read', calls: 2 },
    ]);
    assert.equal(turns[1].tools, [
      { name: 'Bash', calls: 2 },
      { name: 'Edit', calls: 1 },
    ]);
    const newest = await resultOf('svc_session', { session_id: id, order: 'newest', limit: 1 });
    assert.equal(newest.turns[0], turns[1], 'tools are counted per turn, whichever is asked for');
  });

  test('a trace is told step by step: what was said, called and given back', async () => {
    const { id } = await theBug();
    const [{ trace_id }] = (await resultOf('svc_session', { session_id: id })).turns;
    const { spans } = await read(`/v1/traces/${trace_id}`);
    const { steps, step_count, session_id } = await resultOf('svc_trace', { trace_id });
    assert.equal([session_id, step_count], [id, spans.length]);
    assert.equal(
      steps.map(({ span_id, kind, name, status }: Json) => [span_id, kind, name, status]),
      spans.map(({ span_id, kind, name, status }: Json) => [span_id, kind, name, status]),
    );
    const [, first, bash] = steps;
    assert.match(first.input, "The test 'departs today' fails");
    assert.match(
      first.output,
      "[thinking, 159 characters]\nI'll start with the test and with when it failed.\n[calls Bash]",
    );
    assert.match(bash.input, '[calls Bash] {"command":"grep -rn');
    assert.match(bash.output, 'run 8841  failed');
    const full = (await resultOf('svc_trace', { trace_id, detail: 'full' })).steps;
    assert.match(full[1].output, '[thinking] It only fails in the evening');
    const { steps: one } = await resultOf('svc_trace', { trace_id, span_id: first.span_id });
    assert.equal(one, [full[1]]);
    assert.match((await mcp.call('svc_trace', { trace_id })).text, "> The test 'departs today' fails");
  });

  test('what was said is found with the step that it stands in', async () => {
    const { hits } = await resultOf('svc_find', { text: 'run 8841', in: ['tools'] });
    assert.ok(hits.length > 0);
    assert.match(hits[0].snippets[0], 'run 8841');
    const { steps } = await resultOf('svc_trace', { trace_id: hits[0].trace_id, span_id: hits[0].span_id });
    assert.match(steps[0].output, 'run 8841');
    const all = await resultOf('svc_find', { text: 'midnight', limit: 50 });
    const paged = await pages('svc_find', { text: 'midnight', limit: 2 }, 'hits');
    assert.equal(new Set(paged.map(({ span_id }) => span_id)), new Set(all.hits.map(({ span_id }: Json) => span_id)));
    assert.match((await mcp.call('svc_find', { text: 'zzzz' })).text, 'Nothing was found');
    const amended = await mcp.call('svc_find', { text: 'midnihgt', limit: 1 });
    assert.match(amended.text, /^No text has "midnihgt"; "midnight" was looked for too\.\n\n2/);
    assert.equal(amended.structured.replaced_words, [{ word: 'midnihgt', by: 'midnight' }]);
    assert.match(await refused('svc_find', { text: 'a', since: 'x' }), '"since"');
    assert.is(await refused('svc_find', { text: '' }), 'Cannot call svc_find: "text" is empty');
  });

  test('stats are those of the read API', async () => {
    assert.equal(await resultOf('svc_stats'), await read('/v1/stats'));
    const filter = { model: 'claude-sonnet-4-6', since: '2026-11-21T00:00:00Z' };
    const stats = await resultOf('svc_stats', filter);
    assert.ok(stats.turn_count > 0);
    assert.equal(stats, await read(`/v1/stats?${new URLSearchParams(filter)}`));
  });

  test('spend is the series of the read API, with the window before', async () => {
    const window = { since: '2026-11-01T00:00:00Z', until: '2026-12-01T00:00:00Z' };
    const spend = await resultOf('svc_spend', { ...window, by: 'project' });
    const series = await read(`/v1/stats/series?${new URLSearchParams({ ...window, by: 'project' })}`);
    const { cost_usd, cost, input_tokens, output_tokens } = series.total;
    assert.equal(spend.total, { cost_usd, cost, input_tokens, output_tokens });
    assert.ok(cost_usd > 0);
    assert.equal(
      spend.keys.map(({ key }: Json) => key),
      series.keys,
    );
    assert.is(spend.days.length, series.points.length);
    assert.equal(spend.unpriced, series.unpriced_models);
    assert.is(spend.before_usd, 0);
    assert.is(
      (await resultOf('svc_spend', { since: '2026-12-01', until: '2026-12-31T00:00:00Z' })).before_usd,
      cost_usd,
    );
    const october = await resultOf('svc_spend', { until: '2026-11-01' });
    assert.is(october.since, '2026-10-02', 'the default is counted back from until, here of 30 whole days');
    const early = await resultOf('svc_spend', { until: '2026-08-15T12:00:00Z' });
    assert.equal([early.since, early.until], ['2026-07-17', '2026-08-15T12:00:00.000Z']);
    const thirty = (await resultOf('svc_spend')).since;
    for (const until of ['2999-01-01', '9999-12-31T23:59:59.999999999Z'])
      assert.is((await resultOf('svc_spend', { until })).since, thirty, 'what is ahead is counted back from now');
    assert.match(await refused('svc_spend', { since: 'lately' }), '"since" must be an RFC 3339 timestamp');
  });

  test('what cannot be is told in a sentence that helps', async () => {
    assert.match(await refused('svc_session', { session_id: NOBODY }), 'svc_sessions lists them');
    assert.match(await refused('svc_trace', { trace_id: NOBODY }), 'svc_session lists them');
    const { id } = await theBug();
    const [{ trace_id }] = (await resultOf('svc_session', { session_id: id })).turns;
    assert.match(await refused('svc_trace', { trace_id, span_id: NOBODY }), 'the trace has none with this span_id');
    for (const name of ['svc_sessions', 'svc_stats'])
      assert.match(await refused(name, { since: 'lately' }), '"since" must be an RFC 3339 timestamp');
    assert.match(await refused('svc_sessions', { query: 'x' }), 'no argument "query", only text, project');
    for (const [name, args] of [
      ['svc_sessions', { limit: 0 }],
      ['svc_sessions', { limit: 51 }],
      ['svc_sessions', { limit: '10' }],
      ['svc_sessions', { status: 'open' }],
      ['svc_sessions', { text: '...' }],
      ['svc_sessions', { text: ['x'] }],
      ['svc_session', {}],
      ['svc_session', { session_id: '7' }],
      ['svc_trace', { trace_id, detail: 'most' }],
    ] as const)
      assert.match(await refused(name, args), `Cannot call ${name}: `);
  });

  test('a cursor belongs to its tool and its arguments', async () => {
    const { next_cursor } = await resultOf('svc_sessions', { limit: 1 });
    assert.match(
      await refused('svc_sessions', { limit: 1, status: 'completed', cursor: next_cursor }),
      'the cursor belongs to',
    );
    const { id } = await theBug();
    assert.match(await refused('svc_session', { session_id: id, cursor: next_cursor }), 'the cursor belongs to');
    for (const cursor of ['x', next_cursor.slice(0, -4), '../../etc'])
      assert.match(await refused('svc_sessions', { cursor }), 'the cursor');
  });

  test('many calls at once, of several clients, get each their own answer', async () => {
    const { sessions } = await resultOf('svc_sessions');
    const clients = await Promise.all([1, 2, 3].map(() => connectMcp(api)));
    const calls = clients.flatMap((client) =>
      sessions.map(async ({ id }: Json) => {
        const { structured } = await client.call('svc_session', { session_id: id });
        assert.is(structured.session.id, id);
      }),
    );
    await Promise.all(calls);
    await Promise.all(clients.map((client) => client.close()));
  });
});
