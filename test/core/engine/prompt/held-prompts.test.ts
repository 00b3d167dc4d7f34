/** What a provider held of a conversation stands in the prompts of the calls that continue it, and is the same block that was sent. */
import * as assert from 'uvu/assert';
import { type CallPrompt, promptsOf } from '../../../../core/engine/prompt/prompts-of.ts';
import { walkedCall } from '../../../../core/engine/prompt/walked-calls.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { diffPrompts } from '../../../../core/prompt/diff-prompts.ts';
import { type CallLike, capturedCall, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';

type ResponsesCall = {
  n: number;
  input: unknown;
  answer: string;
  after?: string;
  input_tokens: number;
  rest?: Partial<CallLike>;
};

const responsesCall = ({ n, input, answer, after, input_tokens, rest = {} }: ResponsesCall) =>
  capturedCall({
    n,
    format: 'openai.responses',
    headers: [
      ['x-svc-harness-id', 'mine'],
      ['x-svc-harness-session-id', 'chain'],
    ],
    request: {
      model: 'gpt-5',
      instructions: 'be brief',
      tools: [{ type: 'function', name: 'read', parameters: {} }],
      input,
      ...(after === undefined ? {} : { previous_response_id: after }),
    },
    response: JSON.stringify({
      ...{ id: `resp_${n}`, object: 'response', status: 'completed', model: 'gpt-5' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer }] }],
      usage: { input_tokens, output_tokens: 3, total_tokens: input_tokens + 3 },
    }),
    ...rest,
  });

const userInput = (text: string) => [{ role: 'user', content: [{ type: 'input_text', text }] }];

databaseSuite('prompts that the provider holds', (test, database) => {
  const all = async (): Promise<CallPrompt[]> => {
    const [session_id = ''] = await database().execute('sessionIds', { after: null, limit: 1 });
    const prompts: CallPrompt[] = [];
    for await (const prompt of promptsOf(database().execute, session_id)) prompts.push(prompt);
    return prompts;
  };
  const shape = ({ prompt }: Pick<CallPrompt, 'prompt'>) =>
    prompt.blocks.map(({ kind, path, label }) => `${kind} ${path} ${label}`.trim());

  test('a chain of answers: each prompt holds those before, and its growth is what was billed for what came', async () => {
    await database().reset();
    await takeIn(database(), [
      responsesCall({ n: 1, input: userInput('one question'), answer: 'one answer', input_tokens: 40 }),
      responsesCall({
        n: 2,
        input: userInput('two questions'),
        answer: 'two answers',
        after: 'resp_1',
        input_tokens: 62,
      }),
      responsesCall({ n: 3, input: 'three', answer: 'three answers', after: 'resp_2', input_tokens: 90 }),
    ]);
    await deriveAll(database());
    const prompts = await all();
    const [first, second, third] = prompts;
    assert.ok(first && second && third);
    assert.equal(shape(third), [
      'tool-definition tools[0] read',
      'instructions instructions be brief',
      'held  one question',
      'held  one answer',
      'held  two questions',
      'held  two answers',
      'user input three',
    ]);
    assert.equal(
      prompts.map(({ prompt }) => prompt.reach),
      ['whole', 'whole', 'whole'],
    );
    const { common, changes } = diffPrompts(second.prompt.blocks, third.prompt.blocks);
    assert.is(common, second.prompt.blocks.length);
    assert.equal(
      changes.map(({ op }) => op),
      ['add', 'add'],
    );
    assert.equal(third.tokens.shares.slice(0, common), second.tokens.shares);
    const added = third.tokens.shares.slice(common).reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
    assert.is(added, 90 - 62);
    const one = await walkedCall(database().execute, third.raw_turn_id, priceOf);
    assert.equal(one && shape(one), shape(third));
  });

  test('of a conversation whose beginning is not recorded there is the tail', async () => {
    await database().reset();
    await takeIn(database(), [
      responsesCall({ n: 1, input: userInput('go on'), answer: 'gone', after: 'resp_unknown', input_tokens: 4_000 }),
      responsesCall({ n: 2, input: userInput('and on'), answer: 'gone', after: 'resp_1', input_tokens: 4_020 }),
    ]);
    await deriveAll(database());
    const prompts = await all();
    assert.equal(
      prompts.map(({ prompt }) => prompt.reach),
      ['tail', 'tail'],
    );
    for (const { tokens, usage } of prompts) {
      const total = tokens.shares.reduce((sum, { tokens: share }) => sum + (share ?? 0), tokens.unattributed_tokens);
      assert.is(total, usage?.input_tokens);
      assert.ok(tokens.unattributed_tokens > 3_000);
    }
  });

  test('calls without a body, or whose request cannot be read, are left out', async () => {
    await database().reset();
    const input = userInput('one question');
    await takeIn(database(), [
      responsesCall({ n: 1, input, answer: 'a', input_tokens: 40, rest: { keep: 'metadata' } }),
      responsesCall({ n: 2, input, answer: 'a', input_tokens: 40, rest: { request: Buffer.from('{"model":"gpt-5"') } }),
      responsesCall({ n: 3, input, answer: 'a', input_tokens: 40 }),
    ]);
    await deriveAll(database());
    assert.is((await all()).length, 1);
  });
});
