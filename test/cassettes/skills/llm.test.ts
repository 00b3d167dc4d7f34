import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { keyFor, requestCompletion } from '../../../cassettes/skills/llm.ts';

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

const failing = suite('a model that does not answer');

/** The message of the refusal, with a model that does this to each request; null: nothing listens there. */
async function refusalOf(respond: ((response: ServerResponse) => void) | null): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => respond?.(response));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  if (!respond) await new Promise((resolve) => server.close(resolve));
  const settings = { ...config(`http://127.0.0.1:${port}`, {}), 'llm.timeout': 300 };
  const messages = [{ role: 'user' as const, content: 'a prompt' }];
  try {
    await requestCompletion(settings, 'sk-key', messages, z.object({}), AbortSignal.timeout(20_000));
  } catch (error) {
    return (error as Error).message;
  } finally {
    server.closeAllConnections();
    server.close();
  }
  throw new Error('Cannot happen: it was not refused');
}
const json = { 'content-type': 'application/json' };
const prefix = 'Cannot generate the skill: ';

failing('that is not reached is refused with the code', async () => {
  assert.is(await refusalOf(null), `${prefix}the model could not be reached (ECONNREFUSED)`);
});
failing('that is late is refused with the time that it had', async () => {
  assert.is(await refusalOf(() => {}), `${prefix}the model did not answer within 0.3 s`);
});
failing('whose answer breaks off', async () => {
  const breakOff = (response: ServerResponse) => {
    response.writeHead(200, { ...json, 'content-length': 5000 });
    response.write('{"choices":[', () => response.destroy());
  };
  assert.is(await refusalOf(breakOff), `${prefix}the answer of the model broke off`);
});
failing('whose answer is no completion', async () => {
  for (const body of ['null', '{}', '{"choices":', '"text"'])
    assert.is(
      await refusalOf((response) => response.writeHead(200, json).end(body)),
      `${prefix}the answer of the model is no completion`,
      body,
    );
  const page = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
  assert.is(await refusalOf(page), `${prefix}the answer of the model is no completion`);
});
failing.run();
