/** What does a client read that was pointed past its provider? The right address, in words of its own; and what goes through all the same. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Config } from '../../core/config/schema.ts';
import { UPSTREAMS } from '../../core/provider/provider-ids.ts';
import { misdirected } from '../../proxy/misdirected.ts';
import { routeOf } from '../../proxy/routes.ts';
import { answerTo, closeStands, openStand, readAnswer, type Stand } from './stand.ts';

const test = suite('proxy: calls that have lost their way');
test.after.each(closeStands);

const ANTHROPIC_KEY = 'sk-ant-api03-0123456789';
const OPENAI_KEY = 'sk-proj-0123456789';

/** Asks with as little as HTTP wants. */
async function ask(stand: Stand, path: string, headers: Record<string, string> = {}) {
  const lines = Object.entries({ Host: 'localhost:8080', Connection: 'close', 'Content-Length': '2', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const { status, body } = readAnswer(await answerTo(stand.port, `POST ${path} HTTP/1.1\r\n${head}\r\n{}`));
  return { status: Number(status.split(' ')[1]), body: body.toString() };
}

/** As nobody has set anything but the provider of the bare paths: nothing of this may reach it. */
const byDefault = (provider: string) =>
  openStand([{ body: 'reached' }], { proxy: { provider, upstreams: UPSTREAMS as Record<string, string> } });

test('the key of another hosted provider is not sent on to a hosted default: 421, in the words of the provider whose it is', async () => {
  const toOpenai = await byDefault('openai');
  for (const headers of [{ 'x-api-key': ANTHROPIC_KEY }, { Authorization: `Bearer ${ANTHROPIC_KEY}` }]) {
    const { status, body } = await ask(toOpenai, '/v1/messages', headers);
    assert.is(status, 421);
    const message =
      'Cannot pass the call on to https://api.openai.com: its key is of anthropic; calls to anthropic go to http://localhost:8080/anthropic';
    assert.equal(JSON.parse(body), { type: 'error', error: { type: 'invalid_request_error', message } });
    assert.not.match(body, 'sk-');
  }
  const toAnthropic = await byDefault('anthropic');
  const { status, body } = await ask(toAnthropic, '/v1/chat/completions', { Authorization: `Bearer ${OPENAI_KEY}` });
  assert.is(status, 421);
  const { error } = JSON.parse(body);
  assert.match(error.message, /of openai; calls to openai go to http:\/\/localhost:8080\/openai\/v1$/);
  assert.equal([error.type, error.code], ['invalid_request_error', null]);
  assert.equal(toAnthropic.counted, ['anthropic not_a_turn'.replace('anthropic', 'openai')]);
  assert.is(toAnthropic.kept.length, 0);
});

test('the official clients understand it', async () => {
  const toOpenai = await byDefault('openai');
  const anthropic = new Anthropic({
    baseURL: `http://127.0.0.1:${toOpenai.port}`,
    apiKey: ANTHROPIC_KEY,
    maxRetries: 0,
  });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const refused = await anthropic.messages.create({ model: 'm', max_tokens: 9, messages }).then(
    () => null,
    (thrown: InstanceType<typeof Anthropic.APIError>) => thrown,
  );
  assert.equal([refused?.status, refused?.type], [421, 'invalid_request_error']);
  assert.match(refused?.message ?? '', `http://127.0.0.1:${toOpenai.port}/anthropic`);
  const toOllama = await byDefault('ollama');
  const openai = new OpenAI({
    baseURL: `http://127.0.0.1:${toOllama.port}/opanai/v1`,
    apiKey: OPENAI_KEY,
    maxRetries: 0,
  });
  const lost = await openai.chat.completions.create({ model: 'm', messages }).then(
    () => null,
    (thrown: InstanceType<typeof OpenAI.APIError>) => thrown,
  );
  assert.is(lost?.status, 404);
  assert.match(lost?.message ?? '', `http://127.0.0.1:${toOllama.port}/openai/v1`);
});

test('a call with a key of Google is told in its words, and its key in none', async () => {
  const toOpenai = await byDefault('openai');
  const headers = { 'x-goog-api-key': 'AIzaSyExample-of-a-key-0123456789abcde' };
  const { status, body } = await ask(
    toOpenai,
    '/v1beta/models/gemini-2.5-flash:generateContent?key=AIzaSyOther',
    headers,
  );
  assert.is(status, 421);
  const { error } = JSON.parse(body);
  assert.equal([error.code, error.status], [421, 'INVALID_ARGUMENT']);
  assert.match(error.message, /its key is of gemini; calls to gemini go to http:\/\/localhost:8080\/gemini$/);
  assert.not.match(body, 'AIza');
  const misspelt = await ask(toOpenai, '/gemni/v1beta/models/gemini-2.5-flash:generateContent');
  assert.is(misspelt.status, 404);
  assert.match(JSON.parse(misspelt.body).error.message, /calls to gemini go to http:\/\/localhost:8080\/gemini$/);
});

test('a prefix that is misspelt is told with the address that was meant', async () => {
  const stand = await byDefault('ollama');
  for (const path of ['/antropic/v1/messages', '/Anthropic/v1/messages', '/anthropics/v1/messages?beta=true']) {
    const { status, body } = await ask(stand, path, { 'x-api-key': ANTHROPIC_KEY });
    assert.is(status, 404, path);
    const { type, error } = JSON.parse(body);
    assert.equal([type, error.type], ['error', 'not_found_error']);
    assert.match(error.message, /calls to anthropic go to http:\/\/localhost:8080\/anthropic$/);
  }
  const { error } = JSON.parse((await ask(stand, '/olama/api/chat')).body);
  assert.match(error, /calls to ollama go to http:\/\/localhost:8080\/ollama$/);
});

test('what was set, what is local and what is said by a prefix is never refused, whatever key it brings', async () => {
  const set = await openStand([{ body: 'reached' }], { proxy: { provider: 'openai' } }); // its upstreams are not the default ones
  for (const path of ['/v1/messages', '/antropic/v1/messages', '/openai/v1/messages', '/v1/anything'])
    assert.equal(await ask(set, path, { 'x-api-key': ANTHROPIC_KEY }), { status: 200, body: 'reached' }, path);
  const route = (path: string, settings: object) => {
    const { proxy } = Config.parse({ proxy: settings });
    const incoming = { headers: { host: 'localhost', 'x-api-key': ANTHROPIC_KEY }, socket: {} } as never;
    return misdirected(routeOf(path, proxy), incoming, proxy)?.status ?? null;
  };
  assert.is(route('/v1/messages', { provider: 'openai' }), 421);
  assert.is(route('/v1/messages', { provider: 'ollama' }), null, 'Ollama serves it itself');
  assert.is(route('/v1/messages', { provider: 'anthropic' }), null);
  assert.is(route('/v1/messages', { provider: 'openai', upstream: 'https://api.openai.com' }), null, 'it was set');
  assert.is(route('/v1/messages', { provider: 'openai', upstreams: { openai: 'https://eu.api.openai.com' } }), null);
  assert.is(route('/openai/v1/messages', { provider: 'anthropic' }), null);
  assert.is(route('/antropic/v1/messages', { provider: 'ollama', upstream: 'http://localhost:4000' }), null);
  for (const path of ['/openapi', '/api/chat', '/v1/models', '/', '/anthropic/v1/messages', '/opencode/v1/models'])
    assert.is(route(path, { provider: 'ollama' }), null, path);
});

test('a key of no hosted provider, or none at all, goes where the path leads', async () => {
  const { proxy } = Config.parse({ proxy: { provider: 'openai' } });
  for (const headers of [{}, { authorization: 'Bearer eyJhbGciOi' }, { authorization: `Bearer ${OPENAI_KEY}` }])
    assert.is(misdirected(routeOf('/v1/messages', proxy), { headers, socket: {} } as never, proxy), null);
});

test('an upstream that is not reached is named without its secrets, with the address that was meant', async () => {
  const stand = await openStand([], {
    proxy: { provider: 'ollama', upstream: 'http://127.0.0.1:9/hidden-in-the-path' },
  });
  const { status, body } = await ask(stand, '/v1/messages', { 'x-api-key': ANTHROPIC_KEY });
  assert.is(status, 502);
  assert.equal(JSON.parse(body), {
    type: 'error',
    error: {
      type: 'api_error',
      message:
        'Cannot reach the upstream http://127.0.0.1:9: it refuses connections (ECONNREFUSED); calls to anthropic go to http://localhost:8080/anthropic',
    },
  });
  assert.is(
    JSON.parse((await ask(stand, '/api/chat')).body).error,
    'Cannot reach the upstream http://127.0.0.1:9: it refuses connections (ECONNREFUSED)',
  );
  assert.not.match(body, 'hidden');
});

test.run();
