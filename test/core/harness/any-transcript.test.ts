/** Whatever a transcript holds, its reader answers, in time that grows with its records. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readClaudeTranscript } from '../../../core/harness/claude-transcript.ts';
import { readCodexTranscript } from '../../../core/harness/codex-transcript.ts';
import { readGeminiTranscript } from '../../../core/harness/gemini-transcript.ts';
import type { TranscriptReading } from '../../../core/harness/harness.ts';
import { readOpencodeTranscript } from '../../../core/harness/opencode-transcript.ts';
import { readPiTranscript } from '../../../core/harness/pi-transcript.ts';
import { geminiChat, opencodeChat, piChat } from '../../support/other-transcripts.ts';
import {
  answerItem,
  claudeChat,
  event,
  item,
  line,
  tokens,
  transcriptFile,
  userItem,
} from '../../support/transcript-records.ts';
import { harnessFiles } from '../../support/transcript-uploads.ts';

const test = suite('any transcript');

const readers = {
  ...{ claude: readClaudeTranscript, codex: readCodexTranscript, gemini: readGeminiTranscript },
  ...{ opencode: readOpencodeTranscript, pi: readPiTranscript },
};
const rollout = [
  line('session_meta', 0, { id: 't', source: {} }),
  line('turn_context', 0, { model: 'gpt-5' }),
  userItem(1, 'Hi'),
  item(2, { type: 'function_call', name: 'ls', call_id: 'c', arguments: '{}' }),
  item(3, { type: 'function_call_output', call_id: 'c', output: 'ok' }),
  answerItem(4, 'Hello'),
  event(5, 'token_count', tokens(1, 1, 1)),
  line('compacted', 6, { message: 'short' }),
  event(7, 'thread_rolled_back', { num_turns: 2 }),
];
const real = (['claude', 'codex'] as const).flatMap((harness) =>
  harnessFiles(harness).flatMap(({ records }) => records as unknown[]),
);
const known: unknown[] = [...claudeChat(3), ...rollout, ...geminiChat, ...opencodeChat, ...piChat, ...real];

const files = (harness: keyof typeof readers) => (records: unknown[]) =>
  [true, false].map((main) => readers[harness](transcriptFile(records, { main, agent_id: main ? '' : 'a' })));

/** What every reading keeps to. */
function isSound({ calls, omitted, projected_records }: TranscriptReading): void {
  let history = 0;
  let before = '';
  for (const { keeps, added, reply, requested_at, ended_at } of calls) {
    assert.ok(keeps >= 0 && keeps <= history, 'a call goes on from what was there');
    history = keeps + added.length + 1;
    assert.ok(requested_at > before && ended_at >= requested_at, 'times go forward');
    before = requested_at;
    assert.ok(reply.content.length > 0 || reply.usage, 'a call has an answer, or was billed');
  }
  assert.is(new Set(calls.map(({ local_id }) => local_id)).size, calls.length, 'no two calls have one name');
  assert.ok(projected_records >= 0 && Object.keys(omitted).length <= 65);
}

/** Records of a kind that there is, with members dropped, exchanged for anything, or taken from another record. */
const json = fc.jsonValue({ maxDepth: 3 });
const bent = fc
  .tuple(fc.constantFrom(...known), fc.constantFrom(...known), fc.infiniteStream(fc.nat(9)), json)
  .map(([record, other, dice, value]) => twisted(record, other, dice[Symbol.iterator](), value));

function twisted(value: unknown, other: unknown, dice: Iterator<number>, odd: unknown): unknown {
  if (typeof value !== 'object' || value === null) return dice.next().value === 0 ? odd : value;
  if (Array.isArray(value)) return value.map((member) => twisted(member, other, dice, odd));
  const members = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const die = dice.next().value;
    if (die === 0) return [];
    if (die === 1) return [[key, odd]];
    const theirs = (other as Record<string, unknown> | null)?.[key];
    return [[key, die === 2 && theirs !== undefined ? theirs : twisted(member, other, dice, odd)]];
  });
  return Object.fromEntries(members);
}

for (const harness of ['claude', 'codex', 'gemini', 'opencode', 'pi'] as const) {
  const read = files(harness);
  test(`${harness}: any JSON`, () => {
    fc.assert(fc.property(fc.array(json, { maxLength: 12 }), (records) => read(records).forEach(isSound)));
  });
  test(`${harness}: records with members dropped or mistyped, in any order`, () => {
    const shuffled = fc.array(bent, { maxLength: 24 });
    fc.assert(
      fc.property(shuffled, (records) => read(records).forEach(isSound)),
      { numRuns: 300 },
    );
  });
  test(`${harness}: records nested as deep as can be parsed, and names that objects have by themselves`, () => {
    const deep = JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`);
    const names = ['__proto__', 'constructor', 'toString'].map((type) =>
      JSON.parse(`{"type":"${type}","uuid":"${type}"}`),
    );
    const records = known.map((record) => ({ ...(record as object), message: deep, payload: deep }));
    for (const reading of read([...names, ...records])) {
      isSound(reading);
      for (const { type } of names) assert.is(Object.getOwnPropertyDescriptor(reading.omitted, type)?.value, 1);
    }
  });
}

test('parents in a circle, a file without roots, and a record that is its own parent', () => {
  const chat = claudeChat(3) as Record<string, unknown>[];
  const ring = chat.map((record, i) => ({ ...record, parentUuid: chat[(i + 1) % chat.length]?.uuid }));
  const self = chat.map((record) => ({ ...record, parentUuid: record.uuid }));
  for (const records of [ring, self, [...ring, { type: 'last-prompt', leafUuid: 'a1' }]]) {
    for (const reading of files('claude')(records)) isSound(reading);
  }
});

/** Counts how often records are looked into: a reader that searches for each in all the others would do so a hundred million times. */
function counted(records: object[]): { records: object[]; looks: () => number } {
  let looks = 0;
  const get = (target: object, key: string | symbol) => {
    looks++;
    return Reflect.get(target, key);
  };
  return { records: records.map((record) => new Proxy(record, { get })), looks: () => looks };
}

test('ten thousand records cost as much each as ten', () => {
  const perRecord = (harness: keyof typeof readers, records: object[]) => {
    const watched = counted(records);
    readers[harness](transcriptFile(watched.records));
    return watched.looks() / records.length;
  };
  const chats = (questions: number) =>
    Array.from({ length: questions }, (_, i) => [userItem(i, `Q${i}`), answerItem(i, `A${i}`)]).flat();
  for (const [harness, make] of [
    ['claude', claudeChat],
    ['codex', chats],
  ] as const) {
    assert.ok(perRecord(harness, make(5000)) <= perRecord(harness, make(5)) + 1, harness);
  }
});
test.run();
