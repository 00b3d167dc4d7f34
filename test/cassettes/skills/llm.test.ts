import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keyFor } from '../../../cassettes/skills/llm.ts';

const test = suite('the key of the model');

const config = (address: string, keys: { 'llm.api_key'?: string; 'anthropic.api_key'?: string }) => ({
  ...{ 'llm.base_url': address, 'llm.model': 'm', 'llm.timeout': 1, 'transcript.max_characters': 2000 },
  ...keys,
});
const both = { 'llm.api_key': ' one ', 'anthropic.api_key': 'two' };

test('is that of the settings, and Anthropic gets its own where there is one', () => {
  assert.is(keyFor(config('https://api.openai.com/v1', both)), 'one');
  assert.is(keyFor(config('https://api.anthropic.com/v1', both)), 'two');
  assert.is(keyFor(config('https://notanthropic.com/v1', both)), 'one');
  assert.is(keyFor(config('https://api.anthropic.com/v1', { 'llm.api_key': 'one' })), 'one');
});
test('is empty where none is configured, or the only one belongs elsewhere', () => {
  assert.is(keyFor(config('https://api.openai.com/v1', { 'anthropic.api_key': 'two' })), '');
  assert.is(keyFor(config('no address', {})), '');
});

test.run();
