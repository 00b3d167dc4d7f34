/** Transcripts of Gemini CLI, opencode and pi: the conversation, what was billed, and what was taken back. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readGeminiTranscript } from '../../../core/harness/gemini-transcript.ts';
import type { TranscriptReading } from '../../../core/harness/harness.ts';
import { readOpencodeTranscript } from '../../../core/harness/opencode-transcript.ts';
import { readPiTranscript } from '../../../core/harness/pi-transcript.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import { geminiChat, opencodeChat, piChat } from '../../support/other-transcripts.ts';
import type { Json } from '../../support/read-api.ts';
import { transcriptFile } from '../../support/transcript-records.ts';

const test = suite('other transcripts');

const chats = [
  {
    name: 'gemini',
    read: readGeminiTranscript,
    records: geminiChat,
    format: 'gemini.generate',
    tool: 'run_shell_command',
  },
  { name: 'opencode', read: readOpencodeTranscript, records: opencodeChat, format: 'openai.chat', tool: 'bash' },
  { name: 'pi', read: readPiTranscript, records: piChat, format: 'openai.chat', tool: 'bash' },
] as const;

const reading = (read: (file: never) => TranscriptReading, records: readonly object[]) =>
  read(transcriptFile([...records]) as never);
const wordsIn = (content: readonly ContentBlock[]) => content.flatMap(({ text }) => (text ? [text] : []));
const outputs = ({ calls }: TranscriptReading) => calls.map(({ reply }) => reply.usage?.output_tokens);

for (const { name, read, records, format, tool } of chats) {
  test(`${name}: both calls with their words, their tool and its result, and what was billed`, () => {
    const { calls, ...rest } = reading(read, records);
    assert.equal([rest.format, rest.cwd, calls.length], [format, '/home/ada', 2]);
    assert.is(rest.last_at?.slice(0, 19), `2026-07-27T09:00:0${name === 'gemini' ? 6 : 5}`);
    const [first, second] = calls;
    const prompt = first?.added.at(-1)?.message;
    assert.equal([prompt?.role, wordsIn(prompt?.content ?? [])], ['user', ['What is here?']]);
    const use = first?.reply.content.find(({ type }) => type === 'tool_use');
    assert.equal([use?.tool_name, use?.tool_input, use?.tool_use_id], [tool, { command: 'ls' }, 'call_1']);
    assert.match(first?.reply.content[0]?.thinking ?? '', 'I list the folder');
    const [result] = second?.added.at(-1)?.message.content ?? [];
    assert.equal([result?.type, result?.tool_result_id], ['tool_result', 'call_1']);
    assert.match(JSON.stringify(result), 'a.txt');
    assert.equal(wordsIn(second?.reply.content ?? []), ['A file.']);
    for (const { reply, ending } of calls) {
      const { input_tokens, output_tokens, cache_read_tokens } = reply.usage ?? {};
      assert.equal([input_tokens, output_tokens, cache_read_tokens, ending], [100, 20, 10, 'complete']);
    }
  });

  test(`${name}: a file that grows keeps its calls`, () => {
    const whole = reading(read, records).calls.map(({ local_id, requested_at }) => [local_id, requested_at]);
    for (let end = 0; end < records.length; end++) {
      const part = reading(read, records.slice(0, end)).calls.map(({ local_id, requested_at }) => [
        local_id,
        requested_at,
      ]);
      assert.equal(part, whole.slice(0, part.length));
    }
  });
}

test('gemini: what was taken back is billed, and no part of what follows', () => {
  const again = { ...(geminiChat[7] as object), id: 'm7', content: 'Two files.' };
  const prompt = { ...(geminiChat[2] as object), id: 'm6', content: 'And now?' };
  const read = reading(readGeminiTranscript, [...geminiChat, { $rewindTo: 'm1' }, prompt, again]);
  assert.equal(outputs(read), [20, 20, 20]);
  const [, , last] = read.calls;
  assert.equal([last?.keeps, last?.added.length], [1, 1]);
});

test('gemini: after a compression the conversation is what is left, and an answer in it is not billed again', () => {
  const summary = { id: 'm8', timestamp: '2026-07-27T09:00:07.000Z', type: 'user', content: 'The story so far' };
  const kept = geminiChat[7] as object;
  const answer = { ...kept, id: 'm9', content: 'More.' };
  const read = reading(readGeminiTranscript, [...geminiChat, { $set: { messages: [summary, kept] } }, answer]);
  assert.equal(outputs(read), [20, 20, 20]);
  const last = read.calls[2];
  assert.equal([last?.keeps, last?.added.map(({ message }) => message.role)], [0, ['user', 'assistant']]);
});

test('gemini: results that stand with their calls alone', () => {
  const records = geminiChat.filter((one) => (one as Json).id !== 'm3');
  const [, second] = reading(readGeminiTranscript, records).calls;
  assert.match(JSON.stringify(second?.added.at(-1)?.message.content), 'a.txt');
});

test('pi: a branch that was left stands beside, and a compaction begins the conversation anew', () => {
  const entry = (id: string, parentId: string, rest: object) => ({ ...(piChat[5] as object), id, parentId, ...rest });
  const branched = reading(readPiTranscript, [...piChat, entry('e6', 'e4', {})]);
  assert.equal([branched.calls.length, branched.beside.length], [2, 1]);
  assert.equal(
    branched.beside[0]?.calls.map(({ local_id }) => local_id),
    ['e3', 'e5'],
  );
  assert.equal(
    branched.calls.map(({ local_id }) => local_id),
    ['e3', 'e6'],
  );

  const compaction = { ...entry('e6', 'e5', {}), type: 'compaction', summary: 'So far', firstKeptEntryId: 'e5' };
  const prompt = entry('e7', 'e6', { message: { role: 'user', content: 'Go on' } });
  const compacted = reading(readPiTranscript, [...piChat, compaction, prompt, entry('e8', 'e7', {})]);
  const last = compacted.calls[2];
  assert.equal(
    [last?.keeps, last?.added.map(({ message }) => wordsIn(message.content)[0])],
    [0, ['So far', 'A file.', 'Go on']],
  );
});

test('pi: entries that a fork has copied were not made in it', () => {
  const [header, ...entries] = piChat as Json[];
  const forked = reading(readPiTranscript, [
    { ...header, id: 's2', timestamp: '2026-07-27T09:00:04.000Z', parentSession: '/x.jsonl' },
    ...entries,
  ]);
  const original = reading(readPiTranscript, piChat);
  assert.equal(
    forked.calls.map(({ is_own }) => is_own),
    [false, true],
  );
  assert.equal(
    forked.calls.map(({ made }) => made),
    original.calls.map(({ made }) => made),
  );
});

test('an answer that was broken off has no end; one without words or tokens is none', () => {
  const pi = piChat.map((one) => structuredClone(one) as Json);
  pi[5].message.stopReason = 'aborted';
  assert.equal(reading(readPiTranscript, pi).calls[1]?.ending, 'client_closed');
  const opencode = opencodeChat.map((one) => structuredClone(one) as Json);
  opencode[3].info.error = { name: 'MessageAbortedError' };
  assert.equal(reading(readOpencodeTranscript, opencode).calls[1]?.ending, 'client_closed');
  pi[5].message = { ...pi[5].message, content: [], usage: {} };
  assert.is(reading(readPiTranscript, pi).calls.length, 1);
});

test.run();
