/** The tokens of blocks: always the billed number in sum, and the provider's own count wherever a call only added blocks. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { billedAs } from '../../../core/prompt/billed-as.ts';
import type { Prompt } from '../../../core/prompt/prompt.ts';
import { type CountedPrompt, type TokenShares, tokenShares } from '../../../core/prompt/token-shares.ts';
import { promptIn } from '../../support/prompt-of.ts';

const test = suite('tokenShares');

const promptOf = (...texts: string[]): Prompt =>
  promptIn('anthropic.messages', {
    model: 'm',
    system: 'You are brief and to the point, whatever anyone says',
    messages: texts.map((content, n) => ({ role: n % 2 ? 'assistant' : 'user', content })),
  });
const counted = (prompt: Prompt, input_tokens: number, earlier: CountedPrompt[] = []): CountedPrompt => ({
  prompt,
  input_tokens,
  tokens: tokenShares(prompt, input_tokens, earlier),
});
const sum = ({ shares, unattributed_tokens }: TokenShares): number =>
  shares.reduce((total, { tokens }) => total + (tokens ?? 0), unattributed_tokens);

test('a first call shares one number by sizes', () => {
  const { shares, unattributed_tokens } = tokenShares(promptOf('x'.repeat(54)), 30, []);
  assert.equal(shares, [
    { tokens: 15, basis: 'shared' },
    { tokens: 15, basis: 'shared' },
  ]);
  assert.is(unattributed_tokens, 0);
});

test('a call that adds one block shows what the provider counts for it alone', () => {
  const first = counted(promptOf('a question of some length'), 30);
  const next = tokenShares(promptOf('a question of some length', 'an answer of another length'), 41, [first]);
  assert.equal(next.shares.slice(0, 2), first.tokens.shares);
  assert.equal(next.shares[2], { tokens: 11, basis: 'billed' });
});

test('of a call that was repeated, and of a conversation that goes on beside another, the longest beginning counts', () => {
  const first = counted(promptOf('a question of some length'), 30);
  const second = counted(promptOf('a question of some length', 'an answer of another length', 'and then?'), 45, [
    first,
  ]);
  const other = counted(promptOf('something else altogether'), 29, [second, first]);
  const third = tokenShares(
    promptOf('a question of some length', 'an answer of another length', 'and then?', 'nothing at all'),
    50,
    [other, second, first],
  );
  assert.equal(third.shares.at(-1), { tokens: 5, basis: 'billed' });
});

test('what no text can have is in no block', () => {
  const first = counted(promptOf('a question of some length'), 30);
  const next = tokenShares(promptOf('a question of some length', 'short'), 2_030, [first]);
  assert.equal(next.shares.at(-1), { tokens: 4, basis: 'shared' });
  assert.is(next.unattributed_tokens, 1_996);
});

test('where a provider left out what it counted before, all is shared again, in proportion to what was counted', () => {
  const first = counted(promptOf('a question of some length', 'an answer'), 60);
  const next = tokenShares(promptOf('a question of some length', 'an answer', 'y'.repeat(400)), 62, [first]);
  assert.is(sum(next), 62);
  assert.ok(next.shares.every(({ basis }) => basis === 'shared'));
});

test('other parameters of the cache key are another count', () => {
  const first = counted(promptOf('a question of some length'), 30);
  const next = promptOf('a question of some length', 'an answer');
  const other = { ...next, parameters: [...next.parameters, { name: 'thinking', value: '{}', keyed: true }] };
  assert.ok(tokenShares(other, 41, [first]).shares.every(({ basis }) => basis === 'shared'));
});

test('without a count there are no tokens', () => {
  assert.equal(tokenShares(promptOf('a'), null, []).shares[0], { tokens: null, basis: 'none' });
});

test('a picture counts by its area, not by its bytes', () => {
  const png = Buffer.alloc(60_000);
  png.write('\x89PNG\r\n\x1a\n', 'latin1');
  png.writeUInt32BE(750, 16);
  png.writeUInt32BE(400, 20);
  const prompt = promptIn('anthropic.messages', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'w'.repeat(1_575) },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
        ],
      },
    ],
  });
  const [, image] = prompt.blocks;
  assert.equal([image?.kind, image?.pixels, image?.picture_tokens], ['image', 300_000, 400]);
  const { shares } = tokenShares(prompt, 820, []);
  assert.ok(Math.abs((shares[1]?.tokens ?? 0) - 420) < 10);
});

test('whatever is sent and billed, the sum is exact', () => {
  const texts = fc.array(fc.string({ maxLength: 60 }), { minLength: 1, maxLength: 8 });
  const calls = fc.array(fc.record({ texts, input: fc.nat(5_000) }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(calls, (made) => {
      const earlier: CountedPrompt[] = [];
      for (const [n, { texts: added, input }] of made.entries()) {
        const before = n % 3 === 2 ? [] : made.slice(0, n).flatMap((call) => call.texts);
        const call = counted(promptOf(...before, ...added), input, earlier);
        assert.is(sum(call.tokens), input);
        assert.ok(call.tokens.shares.every(({ tokens }) => tokens !== null && tokens >= 0 && Number.isInteger(tokens)));
        earlier.unshift(call);
      }
    }),
    { numRuns: 200 },
  );
});

test('blocks before the border of what was read were read, those behind it written, the last ones neither', () => {
  const shares = [100, 50, 30, 20].map((tokens) => ({ tokens, basis: 'shared' as const }));
  const usage = { cache_read_tokens: 98, cache_write_5m_tokens: 53, cache_write_1h_tokens: 0 };
  assert.equal(billedAs({ shares, unattributed_tokens: 0 }, usage), ['read', 'write', 'fresh', 'fresh']);
  const none = { cache_read_tokens: 0, cache_write_5m_tokens: 0, cache_write_1h_tokens: 0 };
  assert.equal(billedAs({ shares, unattributed_tokens: 0 }, none), ['fresh', 'fresh', 'fresh', 'fresh']);
  assert.equal(billedAs({ shares, unattributed_tokens: 0 }, null), [null, null, null, null]);
  const far = [1_000, 9_000].map((tokens) => ({ tokens, basis: 'shared' as const }));
  const middle = { cache_read_tokens: 5_000, cache_write_5m_tokens: 0, cache_write_1h_tokens: 0 };
  assert.equal(billedAs({ shares: far, unattributed_tokens: 0 }, middle), ['read', 'mixed']);
});

test.run();
