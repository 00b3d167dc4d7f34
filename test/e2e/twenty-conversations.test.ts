/** Conversations that nobody names are told apart by their content alone, even when they begin with the same words. */
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { echoOf, startScriptedProvider } from '../support/scripted-provider.ts';
import { eventually, read, removeFolder, startService } from '../support/serve.ts';

const test = suite('conversations without a name');

test('twenty interleaved ones that open with the same words and the same answers stay twenty', async () => {
  const folder = await folderWithDatabase();
  const provider = await startScriptedProvider();
  const service = await startService(folder, { SVC_PROXY_UPSTREAMS_OPENAI: provider.url });
  try {
    const client = new OpenAI({ baseURL: `${service.proxy}/openai/v1`, apiKey: 'one-key', maxRetries: 0 });
    const histories = Array.from({ length: 20 }, (): OpenAI.ChatCompletionMessageParam[] => []);
    const rounds = [
      () => 'Hello', // the same words
      () => 'Tell me a story', // and again, after the same answer
      (index: number) => `About number ${index}`, // only now do they part
      (index: number) => `And what does number ${index} do next?`,
    ];
    for (const [round, words] of rounds.entries()) {
      const order = histories.map((_, index) => index).sort((a, b) => ((a * 7 + round) % 20) - ((b * 7 + round) % 20));
      for (const index of order) {
        const history = histories[index];
        assert.ok(history);
        history.push({ role: 'user', content: words(index) });
        const answer = await client.chat.completions.create({ model: 'local', messages: history });
        const content = answer.choices[0]?.message.content ?? '';
        assert.is(content, echoOf(words(index)));
        history.push({ role: 'assistant', content });
      }
    }
    const sessions = await eventually('eighty turns', async () => {
      const { items } = await read<{ items: { id: string; rollup: { turn_count: number } }[] }>(
        `${service.api}/v1/sessions?limit=200`,
      );
      return items.reduce((sum, { rollup }) => sum + rollup.turn_count, 0) === 80 ? items : null;
    });
    assert.is(sessions.length, 20);
    for (const { id, rollup } of sessions) {
      assert.is(rollup.turn_count, 4);
      const { traces } = await read<{ traces: { trace: { user_prompt: string } }[] }>(
        `${service.api}/v1/sessions/${id}/traces`,
      );
      const [, , about, next] = traces.map(({ trace }) => trace.user_prompt);
      const number = about?.match(/\d+/)?.[0];
      assert.is(next, `And what does number ${number} do next?`, 'no conversation is mixed with another');
    }
  } finally {
    await service.stop();
    await provider.close();
    await removeFolder(folder);
  }
});

test.run();
