/** A path that the provider serves tells the format; without one the request's own members do. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ingestedFormat, ingestedUrl, redactedPath } from '../../../../core/engine/ingest/ingested-format.ts';

const test = suite('ingest format');

test('a path that the provider serves tells the format', () => {
  for (const [provider, path, format] of [
    ['anthropic', '/v1/messages?beta=true', 'anthropic.messages'],
    ['anthropic', '/v1/chat/completions', 'openai.chat'],
    ['openai', '/local-gw/codex/responses', 'openai.responses'],
    ['openai', 'https://api.openai.com/v1/responses#x', 'openai.responses'],
    ['gemini', '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', 'gemini.generate'],
    ['gemini', '/v1beta/openai/chat/completions', 'openai.chat'],
    ['ollama', '/v1/chat/completions', 'openai.chat'],
    ['ollama', '/v1/messages', 'anthropic.messages'],
    ['ollama', '/api/generate', 'ollama.generate'],
  ] as const) {
    assert.is(ingestedFormat(provider, 'POST', path, { messages: [] }), format, `${provider} ${path}`);
  }
});

test('else the members of the request tell it, and null is none', () => {
  for (const [provider, request, format] of [
    ['anthropic', { input: [] }, 'anthropic.messages'],
    ['openai', { messages: [] }, 'openai.chat'],
    ['openai', {}, 'openai.chat'],
    ['openai', { input: 'hi' }, 'openai.responses'],
    ['openai', { input: 'hi', messages: null }, 'openai.responses'],
    ['openai', { previous_response_id: 'resp_1' }, 'openai.responses'],
    ['openai', { input: null, previous_response_id: null }, 'openai.chat'],
    ['openai', { input: 'hi', messages: [] }, 'openai.chat'],
    ['gemini', { contents: [] }, 'gemini.generate'],
    ['ollama', { messages: [] }, 'ollama.chat'],
    ['ollama', { messages: null, prompt: 'hi' }, 'ollama.generate'],
    ['ollama', {}, 'ollama.generate'],
  ] as const) {
    for (const path of [undefined, null, 7, '', '/unknown', 'v1/messages', '/v1/messages /x']) {
      assert.is(ingestedFormat(provider, 'POST', path, request), format, `${provider} ${JSON.stringify(request)}`);
    }
  }
  assert.is(ingestedFormat('openai', 'POST', '/v1/messages', { input: 'hi' }), 'openai.responses', 'not its path');
  assert.is(ingestedFormat('anthropic', 'POST', '/api/chat', {}), 'anthropic.messages', 'not its path');
  assert.is(ingestedFormat('openai', 'GET', '/v1/responses', {}), 'openai.chat', 'no turn by its method');
});

test('the address is a path, without keys, as long as one can be', () => {
  for (const [path, url] of [
    ['/v1/messages?beta=true', '/v1/messages?beta=true'],
    ['/v1/messages?key=abc&beta=1', '/v1/messages?key=[redacted]&beta=1'],
    ['https://api.anthropic.com/v1/messages?x=1', '/v1/messages?x=1'],
    ['HTTP://host', '/v1/messages'],
    ['//host/v1', '//host/v1'],
    ['v1/messages', '/v1/messages'],
    ['/a b', '/v1/messages'],
    ['/\u0000', '/v1/messages'],
    ['/é\ud800', '/v1/messages'],
    ['', '/v1/messages'],
    [7, '/v1/messages'],
  ] as const) {
    assert.is(ingestedUrl(path, 'anthropic.messages'), url, String(path));
  }
  assert.is(ingestedUrl(`/${'a'.repeat(5000)}`, null).length, 2048);
  assert.is(ingestedUrl(undefined, null), '/');
  assert.is(ingestedUrl(undefined, 'gemini.generate'), '/v1beta/models:generateContent');
  assert.is(
    ingestedUrl('/v1beta/models/g:generateContent?key=abc', null),
    '/v1beta/models/g:generateContent?key=[redacted]',
  );
  assert.equal(
    (['anthropic.messages', 'openai.chat', 'openai.responses', 'ollama.chat', 'ollama.generate'] as const).map(
      (format) => ingestedUrl(undefined, format),
    ),
    ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/api/chat', '/api/generate'],
  );
});

test('a path made to keep us busy is cut', () => {
  const path = `/?${'a;'.repeat(3_000_000)}=`;
  const from = performance.now();
  assert.is(redactedPath(path).length, 16_384);
  assert.is(ingestedUrl(path, null).length, 2048);
  assert.ok(performance.now() - from < 5_000, 'uncut it takes hours');
});

test.run();
