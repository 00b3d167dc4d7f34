/** Is each token billed once? Bills counted by hand: tokens × USD per million, call by call, in millionths of a dollar. */
import * as assert from 'uvu/assert';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { assertBilled, type Bill, type LeftOut, nothingBilled } from '../../support/bill.ts';
import { assistant, brings, chatCall, claudeCall, user, uses } from '../../support/billed-calls.ts';
import { takeIn } from '../../support/captured-calls.ts';
import { wireCall } from '../../support/claude-wire.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { ingestBody, testIngest } from '../../support/ingested-turns.ts';
import { structureOf } from '../../support/session-structure.ts';
import { claudeChat, SESSION_ID } from '../../support/transcript-records.ts';
import { testTranscripts, upload } from '../../support/transcript-uploads.ts';

// USD per million: input, output, cache read, write for 5 minutes, write for an hour
// claude-sonnet-4-5  3     15  0.3    3.75  6
// claude-haiku-4-5   1      5  0.1    1.25  2
// gpt-5              1.25  10  0.125

const resumed = { session: 'resumed', model: 'claude-sonnet-4-5' };
const rewound = { session: 'rewound' };
const compacted = { session: 'compacted' };
const agents = { session: 'agents' };
const checks = { session: 'agents', model: 'claude-haiku-4-5' };

const started = [uses('toolu_a', 'Agent', { prompt: 'The left' }), uses('toolu_b', 'Agent', { prompt: 'The right' })];
const deeper = [uses('toolu_c', 'Agent', { prompt: 'Deeper' })];
const listed = [uses('toolu_d', 'Bash', { command: 'ls right' })];
const MONITOR = 'You are a security monitor. Answer <block>yes</block> or <block>no</block>.';
const judged = ['<transcript>', 'Bash ls right', '</transcript>', 'Err on the side of blocking.'];

const mixed: [string, string][] = [
  ['x-svc-harness-id', 'my-agent'],
  ['x-svc-harness-session-id', 'mixed'],
];
const SUMMARY = 'Your task is to create a detailed summary of the conversation so far';
const CONTINUED = 'This session is being continued from a previous conversation. All of it';

type Golden = {
  calls: JournalCall[];
  bill: Partial<Bill> & { sessions: number; calls: number };
  /** What stats do not count. */
  leftOut?: LeftOut;
};

const WITH_AGENTS = 'two sub-agents that overlap, one within one of them, and calls of a cheaper model beside them';

const goldens: Record<string, Golden> = {
  'a session that a second process resumes, with the whole history sent again': {
    calls: [
      claudeCall({ ...resumed, n: 0, says: [user('Q1')], answers: 'A1', usage: { fresh: 1_000, output: 100 } }),
      claudeCall({
        ...{ ...resumed, n: 10, says: [user('Q1'), assistant('A1'), user('Q2')], answers: 'A2' },
        usage: { fresh: 60, read: 1_000, output: 200 },
      }),
      claudeCall({
        ...{ ...resumed, n: 600, version: '2.1.219', answers: 'A3' },
        says: [user('Q1'), assistant('A1'), user('Q2'), assistant('A2'), user('Q3')],
        usage: { fresh: 1_400, output: 50 },
      }),
    ],
    bill: {
      ...{ sessions: 1, calls: 3 },
      input: 3_460, // 1,000 + (60 + 1,000) + 1,400
      output: 350, // 100 + 200 + 50
      cache_read: 1_000,
      // 1,000 × 3 + 100 × 15             = 4,500
      // 60 × 3 + 1,000 × 0.3 + 200 × 15  = 3,480
      // 1,400 × 3 + 50 × 15              = 4,950
      usd: '0.01293',
    },
  },
  'a conversation that is rewound twice': {
    calls: [
      claudeCall({ ...rewound, n: 0, says: [user('Q1')], answers: 'A1', usage: { fresh: 1_000, output: 100 } }),
      claudeCall({
        ...{ ...rewound, n: 10, says: [user('Q1'), assistant('A1'), user('Q2')], answers: 'A2' },
        usage: { fresh: 20, read: 1_100, output: 50 },
      }),
      claudeCall({
        ...{ ...rewound, n: 20, says: [user('Q1'), assistant('A1'), user('Another Q2')], answers: 'B2' },
        usage: { fresh: 30, read: 1_100, output: 40 },
      }),
      claudeCall({ ...rewound, n: 30, says: [user('Another Q1')], answers: 'C1', usage: { fresh: 900, output: 10 } }),
    ],
    bill: {
      ...{ sessions: 1, calls: 4 },
      input: 4_150, // 1,000 + 1,120 + 1,130 + 900
      output: 200, // 100 + 50 + 40 + 10
      cache_read: 2_200,
      // 1,000 × 3 + 100 × 15           = 4,500
      // 20 × 3 + 1,100 × 0.3 + 50 × 15 = 1,140
      // 30 × 3 + 1,100 × 0.3 + 40 × 15 = 1,020
      // 900 × 3 + 10 × 15              = 2,850
      usd: '0.00951',
    },
  },
  'a conversation that names no session and is forked': {
    calls: [
      chatCall({ n: 0, says: [user('Hello')], answers: 'Hi', usage: { prompt: 1_000, completion: 100 } }),
      chatCall({
        ...{ n: 1, says: [user('Hello'), assistant('Hi'), user('More')], answers: 'More it is' },
        usage: { prompt: 1_200, cached: 1_024, completion: 80 },
      }),
      ...(['Left', 'Right'] as const).map((way, i) =>
        chatCall({
          ...{ n: 2 + i, answers: way },
          says: [user('Hello'), assistant('Hi'), user('More'), assistant('More it is'), user(way)],
          usage: { prompt: 1_300 + 10 * i, cached: 1_024, completion: 60 + 10 * i },
        }),
      ),
    ],
    bill: {
      ...{ sessions: 2, calls: 4 },
      input: 4_810, // 1,000 + 1,200 + 1,300 + 1,310
      output: 310, // 100 + 80 + 60 + 70
      cache_read: 3_072,
      // 1,000 × 1.25 + 100 × 10              = 2,250
      // 176 × 1.25 + 1,024 × 0.125 + 80 × 10 = 1,148
      // 276 × 1.25 + 1,024 × 0.125 + 60 × 10 = 1,073
      // 286 × 1.25 + 1,024 × 0.125 + 70 × 10 = 1,185.5
      usd: '0.0056565',
    },
  },
  'a history that is compacted, and gone on from': {
    calls: [
      claudeCall({ ...compacted, n: 0, says: [user('Q1')], answers: 'A1', usage: { fresh: 1_000, output: 100 } }),
      claudeCall({
        ...{ ...compacted, n: 10, says: [user('Q1'), assistant('A1'), user(SUMMARY)] },
        ...{ answers: '<summary>All of it</summary>', usage: { fresh: 40, read: 1_000, output: 300 } },
      }),
      claudeCall({
        ...{ ...compacted, n: 20, says: [user(CONTINUED)], answers: 'On I go' },
        usage: { fresh: 400, output: 30 },
      }),
      claudeCall({
        ...{ ...compacted, n: 30, says: [user(CONTINUED), assistant('On I go'), user('Test it')], answers: 'Tested' },
        usage: { fresh: 10, read: 430, output: 20 },
      }),
    ],
    bill: {
      ...{ sessions: 1, calls: 4 },
      input: 2_880, // 1,000 + 1,040 + 400 + 440
      output: 450, // 100 + 300 + 30 + 20
      cache_read: 1_430,
      // 1,000 × 3 + 100 × 15            = 4,500
      // 40 × 3 + 1,000 × 0.3 + 300 × 15 = 4,920
      // 400 × 3 + 30 × 15               = 1,650
      // 10 × 3 + 430 × 0.3 + 20 × 15    = 459
      usd: '0.011529',
    },
  },
  [WITH_AGENTS]: {
    calls: [
      claudeCall({
        ...{ ...checks, n: 0, system: 'Return JSON with a single field: {"title": "…"}', says: [user('Check both')] },
        ...{ answers: '{"title":"Two checks"}', usage: { fresh: 200, output: 10 } },
      }),
      claudeCall({
        ...{ ...agents, n: 1, says: [user('Check both')], answers: started },
        usage: { fresh: 10, write_5m: 2_000, output: 120 },
      }),
      claudeCall({
        ...{ ...agents, n: 2, thread: 'a1', says: [user('The left')], answers: deeper },
        usage: { fresh: 500, output: 40 },
      }),
      claudeCall({
        ...{ ...agents, n: 3, thread: 'a2', says: [user('The right')], answers: listed },
        usage: { fresh: 600, output: 30 },
      }),
      claudeCall({
        ...{ ...checks, n: 4, thread: 'a2', system: MONITOR, max_tokens: 64, answers: '<block>no' },
        says: [user(judged.map((text) => ({ type: 'text', text })))],
        usage: { fresh: 300, output: 4 },
      }),
      claudeCall({
        ...{ ...agents, n: 5, thread: 'a3', says: [user('Deeper')], answers: 'Deep enough' },
        usage: { fresh: 400, output: 20 },
      }),
      claudeCall({
        ...{ ...agents, n: 6, thread: 'a2', answers: 'The right is fine' },
        says: [user('The right'), assistant(listed), user([brings('toolu_d', 'a b')])],
        usage: { fresh: 50, read: 600, output: 25 },
      }),
      claudeCall({
        ...{ ...agents, n: 7, thread: 'a1', answers: 'The left is fine' },
        says: [user('The left'), assistant(deeper), user([brings('toolu_c', 'Deep enough\nagentId: a3')])],
        usage: { fresh: 60, read: 500, output: 15 },
      }),
      claudeCall({
        ...{ ...agents, n: 8, answers: 'Both are fine' },
        says: [
          user('Check both'),
          assistant(started),
          user([
            brings('toolu_a', 'The left is fine\nagentId: a1'),
            brings('toolu_b', 'The right is fine\nagentId: a2'),
          ]),
        ],
        usage: { fresh: 80, read: 2_000, output: 12 },
      }),
    ],
    bill: {
      ...{ sessions: 1, calls: 9 },
      input: 7_300, // 200 + 2,010 + 500 + 600 + 300 + 400 + 650 + 560 + 2,080
      output: 276, // 10 + 120 + 40 + 30 + 4 + 20 + 25 + 15 + 12
      cache_read: 3_100, // 600 + 500 + 2,000
      cache_write: 2_000,
      // title   200 × 1 + 10 × 5                   = 250
      // main    10 × 3 + 2,000 × 3.75 + 120 × 15   = 9,330
      // a1      500 × 3 + 40 × 15                  = 2,100
      // a2      600 × 3 + 30 × 15                  = 2,250
      // check   300 × 1 + 4 × 5                    = 320
      // a3      400 × 3 + 20 × 15                  = 1,500
      // a2      50 × 3 + 600 × 0.3 + 25 × 15       = 705
      // a1      60 × 3 + 500 × 0.3 + 15 × 15       = 555
      // main    80 × 3 + 2,000 × 0.3 + 12 × 15     = 1,020
      usd: '0.01803',
    },
  },
  'models of two providers, cached and reasoning tokens, and a model without a price': {
    calls: [
      claudeCall({
        ...{ n: 0, session: '', headers: mixed, says: [user('Q1')], answers: 'A1' },
        usage: { fresh: 100, read: 5_000, write_5m: 1_000, write_1h: 500, output: 200 },
      }),
      chatCall({
        ...{ n: 1, headers: mixed, says: [user('Q2')], answers: 'A2' },
        usage: { prompt: 2_000, cached: 1_500, completion: 300, reasoning: 256 },
      }),
      chatCall({
        ...{ n: 2, headers: mixed, model: 'mystery-1', says: [user('Q3')], answers: 'A3' },
        usage: { prompt: 700, completion: 60 },
      }),
      claudeCall({
        ...{ n: 3, session: '', headers: mixed, model: 'claude-haiku-4-5', says: [user('Q4')], answers: 'A4' },
        usage: { fresh: 10, write_1h: 1_000, output: 5 },
      }),
    ],
    bill: {
      ...{ sessions: 1, calls: 4 },
      input: 10_310, // 6,600 + 2,000 + 700 + 1,010
      output: 565, // 200 + 300 + 60 + 5
      cache_read: 6_500, // 5,000 + 1,500
      cache_write: 2_500, // 1,000 + 500 + 1,000
      reasoning: 256, // within the 300
      // 100 × 3 + 5,000 × 0.3 + 1,000 × 3.75 + 500 × 6 + 200 × 15 = 11,550
      // 500 × 1.25 + 1,500 × 0.125 + 300 × 10                     = 3,812.5
      // 10 × 1 + 1,000 × 2 + 5 × 5                                = 2,035
      usd: '0.0173975',
      unpriced: ['mystery-1'],
    },
  },
  'nothing but a model without a price': {
    calls: [
      chatCall({
        ...{ n: 0, model: 'mystery-1', says: [user('Q')], answers: 'A', usage: { prompt: 700, completion: 60 } },
      }),
    ],
    bill: { sessions: 1, calls: 1, input: 700, output: 60, unpriced: ['mystery-1'] },
  },
  'an answer that is given twice, which stats count as one message': {
    calls: [
      claudeCall({ n: 0, session: 'twice', says: [user('Q')], answers: 'A', usage: { fresh: 1_000, output: 10 } }),
      claudeCall({
        n: 9,
        session: 'twice',
        says: [user('Q')],
        answers: 'A',
        usage: { fresh: 10, read: 990, output: 10 },
      }),
    ],
    bill: {
      ...{ sessions: 1, calls: 2, input: 2_000, output: 20, cache_read: 990 },
      // 1,000 × 3 + 10 × 15 = 3,150 and 10 × 3 + 990 × 0.3 + 10 × 15 = 477
      usd: '0.003627',
    },
    leftOut: { input: 1_000, output: 10, usd: '0.000477' },
  },
  'an answer of no words, which is no message for stats to count': {
    calls: [
      claudeCall({ n: 0, session: 'empty', says: [user('Q')], answers: 'A', usage: { fresh: 1_000, output: 10 } }),
      claudeCall({ n: 9, session: 'empty', says: [user('R')], answers: [], usage: { fresh: 100, output: 2 } }),
    ],
    bill: {
      ...{ sessions: 1, calls: 2, input: 1_100, output: 12 },
      // 1,000 × 3 + 10 × 15 = 3,150 and 100 × 3 + 2 × 15 = 330
      usd: '0.00348',
    },
    leftOut: { input: 100, output: 2, usd: '0.00033' },
  },
  'an answer in words that an earlier call had put into its history': {
    calls: [
      claudeCall({
        ...{ n: 0, session: 'made up', says: [user('Q'), assistant('A'), user('R')], answers: 'B' },
        usage: { fresh: 1_000, output: 10 },
      }),
      claudeCall({ n: 9, session: 'made up', says: [user('Q')], answers: 'A', usage: { fresh: 100, output: 2 } }),
    ],
    bill: { sessions: 1, calls: 2, input: 1_100, output: 12, usd: '0.00348' }, // as above
    leftOut: { input: 100, output: 2, usd: '0.00033' },
  },
};

databaseSuite('golden sessions', (test, database) => {
  test.before.each(() => database().reset());

  for (const [name, { calls, bill, leftOut }] of Object.entries(goldens)) {
    test(`counted by hand: ${name}`, async () => {
      const expected = { ...nothingBilled, ...bill };
      await takeIn(database(), calls);
      await deriveAll(database());
      await assertBilled(database(), expected, leftOut, 'in one batch');
      await database().execute('markFromScratch', { session_id: null });
      await deriveAll(database());
      await assertBilled(database(), expected, leftOut, 'from scratch');

      await database().reset();
      for (const call of calls.toReversed()) {
        await takeIn(database(), [call]);
        await deriveAll(database());
      }
      await assertBilled(database(), expected, leftOut, 'the last call first');
    });
  }

  test('the sub-agents stand under the calls that started them, each with its own tokens', async () => {
    await takeIn(database(), goldens[WITH_AGENTS]?.calls ?? []);
    await deriveAll(database());
    const [found] = await database().sql('select session_id, kind_counts from svc.session_rollups');
    assert.equal(found?.kind_counts, {
      main: 7,
      'offshoot:title-gen': 1,
      'offshoot:permission-check:stage1': 1,
    });
    assert.equal(await structureOf(database(), String(found?.session_id)), [
      'agent main',
      '  llm claude-haiku-4-5 200+10',
      '  llm claude-sonnet-4-5 2010+120',
      '  tool Agent toolu_a',
      '    agent subagent of a1',
      '      llm claude-sonnet-4-5 500+40 of a1',
      '      tool Agent toolu_c of a1',
      '        agent subagent of a3',
      '          llm claude-sonnet-4-5 400+20 of a3',
      '      llm claude-sonnet-4-5 560+15 of a1',
      '  tool Agent toolu_b',
      '    agent subagent of a2',
      '      llm claude-sonnet-4-5 600+30 of a2',
      '      tool Bash toolu_d of a2',
      '        llm claude-haiku-4-5 300+4 of a2',
      '      llm claude-sonnet-4-5 650+25 of a2',
      '  llm claude-sonnet-4-5 2080+12',
    ]);
  });

  test('what is imported again is billed once: calls by their request ids, transcripts, and one beside the other', async () => {
    const session = { harness_id: 'claude', harness_session_id: SESSION_ID };
    const uploaded = () => upload(testTranscripts(database()), { session, records: claudeChat(2) });
    const bodies = [
      wireCall(2, { words: ['Question 1'], answer: 'Answer 1' }),
      wireCall(12, { words: ['Question 1', 'Answer 1', 'Question 2'], answer: 'Answer 2' }),
    ].map(({ opened, ...call }) => {
      const named: [string, string][] = [
        ['x-svc-harness-id', 'claude'],
        ['x-svc-harness-session-id', SESSION_ID],
      ];
      return ingestBody({ ...call, opened: { ...opened, headers: [...opened.headers, ...named] } });
    });
    const ingested = async () => {
      const ingest = await testIngest(database());
      for (const body of bodies) assert.is((await ingest.append(body, null)).kind, 'accepted');
    };
    const transcribed = { ...nothingBilled, sessions: 1, calls: 2, input: 20, output: 10, usd: '0.00021' }; // 2 × (10 × 3 + 5 × 15)
    const wired = { ...nothingBilled, sessions: 1, calls: 2, input: 14, output: 6, usd: '0.000132' }; // 2 × (7 × 3 + 3 × 15)
    for (const [steps, bill] of [
      [[uploaded, uploaded, uploaded], transcribed],
      [[ingested, ingested], wired],
      [[uploaded, uploaded, uploaded, ingested, ingested, uploaded, ingested], wired],
      [[ingested, uploaded, uploaded, ingested], wired],
    ] as const) {
      await database().reset();
      for (const step of steps) {
        await step();
        await deriveAll(database());
      }
      await assertBilled(database(), bill);
    }
  });
});
