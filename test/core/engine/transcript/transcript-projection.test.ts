/** Transcripts in the projection: alone they tell the conversation, beside the wire only how its threads came to be. */
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { type DeriveEnd, deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { takeIn } from '../../../support/captured-calls.ts';
import { compactionCall, titleCall, wireCall } from '../../../support/claude-wire.ts';
import { wireOf } from '../../../support/client-wire.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { linksIn, structureOf } from '../../../support/session-structure.ts';
import {
  answeredBy,
  claudeChat,
  resulted,
  SESSION_ID,
  textBlock,
  userRecord,
  uses,
} from '../../../support/transcript-records.ts';
import { harnessFiles, testTranscripts, type UploadedMessage, upload } from '../../../support/transcript-uploads.ts';

const session = { harness_id: 'claude', harness_session_id: SESSION_ID };
const chatFile = (questions: number): UploadedMessage => ({ session, records: claudeChat(questions) });

const TABLES = [
  'traces',
  'spans',
  'span_links',
  'session_rollups',
  'nodes',
  'calls',
  'transcript_calls',
  'transcript_readings',
];

databaseSuite('transcript projection', (test, database) => {
  test.before.each(() => database().reset());

  const uploaded = async (...files: UploadedMessage[]): Promise<string> =>
    (await upload(testTranscripts(database()), ...files))[0]?.session_id ?? '';
  const traces = () => database().sql('select source, synthetic, user_prompt from svc.traces order by started_at');
  const sources = async () => [...new Set((await traces()).map(({ source }) => source))];
  const rows = async (columns = '') => {
    const found: string[] = [];
    for (const table of TABLES) {
      const lines = await database().sql(
        `select (to_jsonb(x) - 'rev')::text${columns} as row from svc.${table} x order by 1`,
      );
      found.push(...lines.map(({ row }) => `${table} ${row}`));
    }
    return found;
  };
  const tokens = async () => {
    const sum = (from: string) =>
      database().sql(`select coalesce(sum(input_tokens + output_tokens), 0)::int as n from ${from}`);
    const [[nodes], [spans], [days]] = [await sum('svc.nodes'), await sum('svc.spans'), await sum('svc.stat_days')];
    return [nodes?.n, spans?.n, days?.n];
  };
  /** One pass over the session that is due, and how many calls it folded. */
  const pass = async (): Promise<DeriveEnd> => {
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    if (!lease) throw new Error('Nothing is due');
    return deriveSession({ database: database(), reader: builtIn, signal: new AbortController().signal }, lease);
  };
  const report = (session_id: string) => database().execute('deriveReport', { session_id });

  for (const harness of ['claude', 'codex'] as const) {
    const files = harnessFiles(harness);
    const wire = wireOf(`${harness}-agent`);
    if (files.length === 0) continue;

    test(`session without wire call: a partial projection with source transcript, the sub-agent under its tool call (${harness})`, async () => {
      const id = await uploaded(...files);
      await deriveAll(database());
      assert.equal(await sources(), ['transcript']);
      const [first] = await traces();
      assert.match(String(first?.user_prompt), /^PARENT-PROMPT/);
      assert.equal(
        (await structureOf(database(), id)).map((line) => line.replace(/ of \S+$/, '')),
        STRUCTURES[harness],
      );
      assert.equal(await linksIn(database(), id), LINKS[harness]);
      const counts = await tokens();
      assert.equal(counts, [counts[0], counts[0], counts[0]], 'nodes, spans and days agree');
      const { reconcile, transcript_projection } = await report(id);
      assert.equal(reconcile, {
        transcript_files: 2,
        subagent_forks: 1,
        threads_anchored: 1,
        threads_unanchored: 0,
        interacted_rows: 0,
      });
      assert.is(transcript_projection.suppressed_by_wire, 0);
    });

    test(`session with wire call: transcripts reconcile structure only, nothing is told twice, in whatever order they come (${harness})`, async () => {
      const wholes: string[][] = [];
      for (const steps of [
        [wire, files],
        [files, wire],
        [files.slice(1), wire, files.slice(0, 1)],
      ] as (JournalCall[] | UploadedMessage[])[][]) {
        await database().reset();
        let id = '';
        for (const step of steps) {
          if (step === wire) await takeIn(database(), wire);
          else id = await uploaded(...(step as UploadedMessage[]));
          await deriveAll(database());
        }
        assert.equal(await sources(), ['wire']);
        wholes.push([
          ...(await structureOf(database(), id)),
          JSON.stringify([await linksIn(database(), id), await tokens()]),
        ]);
        assert.equal((await database().sql('select 1 from svc.transcript_calls')).length, 0);
        assert.is((await report(id)).transcript_projection.suppressed_by_wire, 2);
      }
      const [first = [], ...others] = wholes;
      for (const other of others) assert.equal(other, first);
      assert.equal(
        first.slice(0, -1).map((line) => line.replace(/ of \S+$/, '')),
        STRUCTURES[harness],
      );
    });

    test(`the same calls without a transcript degrade safely (${harness})`, async () => {
      await takeIn(database(), wire);
      await deriveAll(database());
      const [row] = await database().sql('select session_id from svc.sessions');
      const lines = await structureOf(database(), String(row?.session_id));
      assert.is(lines.length, STRUCTURES[harness].length);
      assert.is(lines.filter((line) => /^ +agent /.test(line)).length, 1);
    });
  }

  test('rule 1: a title call over the wire stays beside the conversation of the transcript and does not hide it', async () => {
    for (const steps of ['wire first', 'files first']) {
      await database().reset();
      if (steps === 'wire first') await takeIn(database(), [titleCall(1)]);
      const id = await uploaded(chatFile(2));
      if (steps === 'files first') await takeIn(database(), [titleCall(1)]);
      await deriveAll(database());
      const lines = await structureOf(database(), id);
      assert.equal(lines.filter((line) => line.includes(' llm')).length, 3, steps);
      assert.equal(
        (await traces()).map(({ user_prompt, synthetic }) => [user_prompt, synthetic]),
        [
          ['Question 1', ''],
          ['Question 2', ''],
        ],
      );
      const [rollup] = await database().sql('select title, kind_counts from svc.session_rollups');
      assert.equal(rollup, { title: 'Asked over the wire', kind_counts: { main: 2, 'offshoot:title-gen': 1 } });
      const counts = await tokens();
      assert.equal(counts, [counts[0], counts[0], counts[0]]);
    }
  });

  test('rule 2: a capture of compaction calls alone forms a seam into the continuation that the transcript tells', async () => {
    const continued = [
      userRecord(['', 'u8'], 40, 'This session is being continued from a previous conversation', {
        isCompactSummary: true,
      }),
      answeredBy(['u8', 'a8'], 42, 'msg_8', [textBlock('Continued')], { stop_reason: 'end_turn' }),
    ];
    await takeIn(database(), [compactionCall(30)]);
    const id = await uploaded({ session, records: continued });
    await deriveAll(database());
    assert.equal((await linksIn(database(), id))['compaction-seam'], 1);
    const found = await traces();
    assert.equal(found.map(({ source, synthetic }) => [source, synthetic]).at(-1), ['transcript', 'post-compaction']);
  });

  test('an answer that a compaction call over the wire repeats is billed once, and survives as the transcript grows', async () => {
    const id = await uploaded(chatFile(2));
    await deriveAll(database());
    await takeIn(database(), [compactionCall(30)]);
    await deriveAll(database());
    const before = await tokens();
    assert.equal(before, [40, 40, 40], 'two calls of 15 tokens, and the compaction of 10');
    await uploaded(chatFile(3));
    await deriveAll(database());
    assert.equal(await tokens(), [55, 55, 55]);
    const grown = await rows();
    await database().execute('markFromScratch', { session_id: id });
    await deriveAll(database());
    assert.equal(await rows(), grown, 'from scratch is the same');
  });

  test('rule 3: unknown records are listed as omitted types in the report and cost valid ones nothing', async () => {
    const id = await uploaded({
      session,
      records: [...claudeChat(1), { type: 'mystery' }, 'torn', { type: 'mystery' }],
    });
    await deriveAll(database());
    const { transcript_projection } = await report(id);
    assert.equal(transcript_projection, {
      ...{ files: 1, records: 5, projected_records: 2, omitted_records: 3 },
      ...{ omitted_types: { mystery: 2, unknown: 1 }, suppressed_by_wire: 0 },
    });
    assert.is((await traces()).length, 1);
  });

  test('rule 4: rows of kind interacted are counted and change nothing', async () => {
    const parent = [
      userRecord(['', 'u1'], 0, 'Delegate'),
      answeredBy(['u1', 'a1'], 1, 'msg_1', [
        uses('toolu_1', 'Agent', { prompt: 'Do it' }),
        uses('toolu_2', 'Agent', { prompt: 'Do it too' }),
      ]),
    ];
    const child = [userRecord(['', 'c1'], 2, 'Do it'), answeredBy(['c1', 'c2'], 3, 'msg_c', [textBlock('Done')])];
    const agent = { session, agent_id: 'a1', tool_use_id: 'toolu_1', records: child };
    const id = await uploaded({ session, records: parent }, agent);
    await deriveAll(database());
    const before = await structureOf(database(), id);
    assert.ok(before.some((line) => line.startsWith('    agent subagent')));
    await uploaded({ ...agent, kind: 'interacted', tool_use_id: 'toolu_2' });
    await deriveAll(database());
    assert.equal(await structureOf(database(), id), before);
    assert.is((await report(id)).reconcile.interacted_rows, 1);
  });

  test('a later note of a spawn anchors its thread and does not hide what the thread said', async () => {
    const note = {
      type: 'event_msg',
      payload: { type: 'sub_agent_activity', kind: 'started', event_id: 'call_spawn1', agent_thread_id: 't1' },
    };
    const [main, agent] = harnessFiles('codex');
    if (!main || !agent) return;
    const id = await uploaded(main, agent, {
      session: agent.session ?? {},
      agent_id: agent.agent_id,
      kind: 'started',
      tool_use_id: 'call_spawn1',
      records: [note],
    });
    await deriveAll(database());
    assert.equal(
      (await structureOf(database(), id)).map((line) => line.replace(/ of \S+$/, '')),
      STRUCTURES.codex,
    );
  });

  test('a file that grows is folded from where it differs', async () => {
    await uploaded(chatFile(20));
    assert.equal((await pass()).folded, 20);
    await uploaded(chatFile(22));
    assert.equal((await pass()).folded, 2, 'only what is new');
    const longer = claudeChat(22);
    longer.push(
      answeredBy(['a22', 'p23'], 213, 'msg_22', [textBlock('and more')], {
        usage: { input_tokens: 10, output_tokens: 9 },
      }),
    );
    await uploaded({ session, records: longer });
    const { folded } = await pass();
    assert.ok(folded > 0 && folded <= 8, `${folded} calls for one that goes on`);
    assert.equal(await tokens(), [21 * 15 + 19, 21 * 15 + 19, 21 * 15 + 19]);
    const grown = await rows();
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(await rows(), grown, 'from scratch is the same');
  });

  test('a wire call beside a projected transcript reads no file that has not changed, unless its calls are folded again', async () => {
    await uploaded(chatFile(2));
    await deriveAll(database());
    await takeIn(database(), [titleCall(60)]);
    assert.equal((await pass()).folded, 1);
    await takeIn(database(), [
      wireCall(5, { system: 'JSON: {"title": "…"}', words: ['Again'], answer: '{"title":"x"}' }),
    ]);
    assert.equal((await pass()).folded, 4, 'one that comes late is folded with those after it');
    const [first] = await traces();
    assert.is(first?.user_prompt, 'Question 1');
  });

  test('an answer that a person broke off leaves its session interrupted, and no words of the harness in the next prompt', async () => {
    const brokenOff = [
      ...claudeChat(1),
      userRecord(['a1', 'u2'], 10, 'Tell me all'),
      answeredBy(['u2', 'a2'], 12, 'msg_2', [textBlock('First')]),
    ];
    const marked = [...brokenOff, userRecord(['a2', 'i2'], 14, [textBlock('[Request interrupted by user]')])];
    const status = async () => (await database().sql('select status from svc.session_rollups'))[0]?.status;
    await uploaded({ session, records: brokenOff });
    await deriveAll(database());
    assert.is(await status(), 'unknown', 'the file does not show yet how it ended');
    await uploaded({ session, records: marked });
    await deriveAll(database());
    assert.is(await status(), 'interrupted');
    const calls = await database().sql(
      `select status, error_type from svc.spans where kind = 'llm' order by started_at`,
    );
    assert.equal(calls.at(-1), { status: 'partial', error_type: 'client_closed' });
    const next = [
      userRecord(['i2', 'u3'], 16, 'Shortly, please'),
      answeredBy(['u3', 'a3'], 18, 'msg_3', [textBlock('Yes')], { stop_reason: 'end_turn' }),
    ];
    await uploaded({ session, records: [...marked, ...next] });
    await deriveAll(database());
    assert.is(await status(), 'completed');
    assert.equal(
      (await traces()).map(({ user_prompt }) => user_prompt),
      ['Question 1', 'Tell me all', 'Shortly, please'],
    );
    assert.equal(await database().sql(`select kind from svc.span_links where kind in ('retry-of', 'fork-of')`), []);
  });

  test('another branch of the same file stands beside the first, as it does over the wire: what was left was paid for', async () => {
    const base = claudeChat(2);
    const id = await uploaded({ session, records: base });
    await deriveAll(database());
    const other = [
      userRecord(['a1', 'v2'], 50, 'Another way'),
      answeredBy(['v2', 'w2'], 52, 'msg_w', [textBlock('Taken')], {
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    ];
    await uploaded({ session, records: [...base, ...other] });
    await deriveAll(database());
    assert.equal(
      (await traces()).map(({ user_prompt }) => user_prompt),
      ['Question 1', 'Question 2', 'Another way'],
    );
    assert.equal(await tokens(), [32, 32, 32]);
    assert.equal((await database().sql('select 1 from svc.nodes where is_head')).length, 2);
    const now = await rows();
    await database().execute('markFromScratch', { session_id: id });
    await deriveAll(database());
    assert.equal(await rows(), now, 'from scratch is the same');
  });

  test('unchanged input rewrites no row, although derivation was asked for', async () => {
    const files = [chatFile(3), { session, agent_id: 'a1', tool_use_id: 'toolu_1', records: claudeChat(1) }];
    await uploaded(...files);
    await takeIn(database(), [titleCall(1)]);
    await deriveAll(database());
    const before = await rows(` || xmin::text`);
    await uploaded(...files);
    assert.equal((await pass()).folded, 0);
    assert.equal(await rows(` || xmin::text`), before);
  });

  test('a title of the transcript is taken up although no call has changed', async () => {
    await uploaded(chatFile(2));
    await deriveAll(database());
    await uploaded({ session, records: [...claudeChat(2), { type: 'ai-title', aiTitle: 'Two questions' }] });
    assert.equal((await pass()).folded, 0);
    const [rollup] = await database().sql('select title from svc.session_rollups');
    assert.is(rollup?.title, 'Two questions');
  });

  test('calls that do not name their thread are told by the first words that its file says it was given', async () => {
    const [main, agent] = harnessFiles('claude');
    if (!main || !agent) return;
    const nameless = wireOf('claude-agent').map((call) => ({
      ...call,
      opened: { ...call.opened, headers: call.opened.headers.filter(([name]) => name !== 'x-claude-code-agent-id') },
    }));
    await takeIn(database(), nameless);
    await deriveAll(database());
    const id = await uploaded(main, agent);
    await deriveAll(database());
    assert.equal(
      (await structureOf(database(), id)).map((line) => line.replace(/ of \S+$/, '')),
      STRUCTURES.claude,
    );
    const now = await rows();
    await database().execute('markFromScratch', { session_id: id });
    await deriveAll(database());
    assert.equal(await rows(), now, 'from scratch is the same');
  });

  test('a file of which nobody says what wrote it is read by who makes most of it', async () => {
    for (const harness of ['claude', 'codex'] as const) {
      const [main] = harnessFiles(harness);
      if (!main) return;
      await database().reset();
      await uploaded({ ...main, session: { harness_session_id: 'nobody-knows' } });
      await deriveAll(database());
      assert.match(String((await traces())[0]?.user_prompt), /^PARENT-PROMPT/, harness);
    }
  });

  test('a long file is committed in pieces, with calls over the wire in between', async () => {
    await takeIn(
      database(),
      Array.from({ length: 300 }, (_, i) => titleCall(5 + i * 20)),
    );
    const id = await uploaded(chatFile(700));
    assert.is((await pass()).folded, 1000);
    const [found] = await database().sql('select count(*)::int as n from svc.traces');
    assert.is(found?.n, 700);
    const before = await rows();
    await database().execute('markFromScratch', { session_id: id });
    await deriveAll(database());
    assert.equal(await rows(), before);
    assert.equal(await tokens(), [700 * 15 + 10, 700 * 15 + 300 * 10, 700 * 15 + 10]);
  });

  test('from scratch is the same as step by step, in whatever order files grow and calls come', async () => {
    const child = [
      userRecord(['', 'c1'], 3, 'Do it'),
      answeredBy(['c1', 'c2'], 4, 'msg_c1', [uses('toolu_c')]),
      userRecord(['c2', 'c3'], 6, [resulted('toolu_c')]),
      answeredBy(['c3', 'c4'], 8, 'msg_c2', [textBlock('Done')]),
    ];
    const parent = [
      userRecord(['', 'u0'], -20, 'Delegate'),
      answeredBy(['u0', 'a0'], -18, 'msg_0', [uses('toolu_1', 'Agent', { prompt: 'Do it' })]),
      userRecord(['a0', 'r0'], -10, [resulted('toolu_1')], { toolUseResult: { agentId: 'a1', prompt: 'Do it' } }),
      answeredBy(['r0', 'b0'], -8, 'msg_b', [textBlock('Delegated')]),
      ...claudeChat(12).map((record, i) => (i === 0 ? { ...record, parentUuid: 'b0' } : record)),
    ];
    const main = (count: number) => () => uploaded({ session, records: parent.slice(0, count) });
    const agent = (count: number) => () =>
      uploaded({ session, agent_id: 'a1', agent_type: 'Plan', records: child.slice(0, count) });
    const wire = (call: JournalCall) => () => takeIn(database(), [call]);
    const steps: (() => Promise<unknown>)[] = [
      ...[2, 5, 9, 16, 27, 28].map(main),
      ...[2, 4].map(agent),
      ...[titleCall(-19), titleCall(47), compactionCall(15), compactionCall(62)].map(wire),
    ];
    const orders = fc.sample(fc.shuffledSubarray(steps, { minLength: 6 }), { numRuns: 5, seed: 20_261_121 });
    const takenOver = [
      ...steps.slice(0, 8),
      wire(wireCall(70, { words: ['Over the wire'], answer: 'Yes' })),
      ...steps.slice(8),
    ];
    for (const [n, order] of [...orders, takenOver].entries()) {
      await database().reset();
      for (const step of order) {
        await step();
        await deriveAll(database());
      }
      const stepwise = await rows();
      await database().execute('markFromScratch', { session_id: null });
      await deriveAll(database());
      assert.equal(await rows(), stepwise, `order ${n}`);
    }
  });

  test('an agent called main is a thread of its own', async () => {
    const id = await uploaded(chatFile(1), { session, agent_id: 'main', records: claudeChat(1) });
    await deriveAll(database());
    const lines = await structureOf(database(), id);
    assert.is(lines.filter((line) => line.includes('of main')).length, 2);
    assert.equal(lines.filter((line) => line.includes('llm')).length, 2);
  });
});

const STRUCTURES = {
  claude: [
    'agent main',
    '  llm claude-opus-4-8 12+20',
    '  tool Agent toolu_fakeagent1',
    '    agent general-purpose',
    '      llm claude-opus-4-8 12+20',
    '      tool Bash toolu_fake1',
    '      llm claude-opus-4-8 12+6',
    '  llm claude-opus-4-8 12+6',
  ],
  codex: [
    'agent main',
    '  llm fake-model 15+6',
    '  tool spawn_agent call_spawn1',
    '    agent Leibniz',
    '      llm fake-model 15+6',
    '      tool Bash call_fake1',
    '      llm fake-model 15+6',
    '  llm fake-model 15+6',
    '  tool wait_agent call_wait1',
    '  llm fake-model 15+6',
  ],
};
const LINKS = { claude: { emits: 2, feeds: 2, rejoin: 1 }, codex: { emits: 3, feeds: 3, rejoin: 1 } };
