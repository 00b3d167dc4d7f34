import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FormatId, formatById, formatOf, formats } from '../../../core/provider/formats.ts';

const test = suite('formats');

test('a format is told from method and path', () => {
  const calls: [method: string, path: string, format: string | undefined][] = [
    ['POST', '/v1/messages', 'anthropic.messages'],
    ['POST', '/v1/messages/', 'anthropic.messages'],
    ['post', '/gateway/anthropic/v1/messages', 'anthropic.messages'],
    ['POST', '/messages', 'anthropic.messages'],
    ['POST', '/v1beta/models/gemini-2.5-flash:generateContent', 'gemini.generate'],
    ['POST', '/v1/models/gemini-2.5-flash:streamGenerateContent', 'gemini.generate'],
    ['POST', '/v1beta/tunedModels/mine-1:generateContent', 'gemini.generate'],
    [
      'POST',
      '/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamGenerateContent',
      'gemini.generate',
    ],
    ['POST', '/v1/projects/p/locations/l/endpoints/123:generateContent', 'gemini.generate'],
    ['POST', '/v1beta/models/gemini-2.5-flash%3AgenerateContent', 'gemini.generate'],
    ['POST', '/v1beta/models/gemini-2.5-flash:countTokens', undefined],
    ['POST', '/v1beta/models/gemini-embedding-001:batchEmbedContents', undefined],
    ['GET', '/v1beta/models/gemini-2.5-flash', undefined],
    ['POST', '/v1/chat/completions', 'openai.chat'],
    ['POST', '/chat/completions', 'openai.chat'],
    ['POST', '/api/paas/v4/chat/completions/', 'openai.chat'],
    ['POST', '/openai/deployments/x/chat/completions', 'openai.chat'],
    ['POST', '/v1/responses', 'openai.responses'],
    ['POST', '/codex/responses', 'openai.responses'],
    ['POST', '/v1/responses/', 'openai.responses'],
    ['POST', '/api/chat', 'ollama.chat'],
    ['POST', '/api/generate', 'ollama.generate'],
    ['POST', '/v1/responses/resp_1/cancel', undefined],
    ['POST', '/v1/responses/compact', undefined],
    ['POST', '/v1/responses/input_tokens', undefined],
    ['GET', '/v1/responses/resp_1', undefined],
    ['POST', '/api/embed', undefined],
    ['POST', '/api/show', undefined],
    ['GET', '/v1/messages', undefined],
    ['HEAD', '/v1/chat/completions', undefined],
    ['POST', '/v1/messages/count_tokens', undefined],
    ['POST', '/v1/messages/batches', undefined],
    ['POST', '/v1/messages/batches/b1/cancel', undefined],
    ['POST', '/v1/threads/thread_1/messages', undefined],
    ['POST', '/v1/direct-messages', undefined],
    ['POST', '/v1/completions', undefined],
    ['POST', '/v1/embeddings', undefined],
    ['GET', '/v1/chat/completions/chatcmpl-1/messages', undefined],
    ['POST', '/api/hello', undefined],
    ['POST', '/', undefined],
    ['POST', '', undefined],
  ];
  for (const [method, path, format] of calls) assert.is(formatOf(method, path)?.id, format, `${method} ${path}`);
});

test('each format is found by its id', () => {
  for (const format of formats) assert.is(formatById(format.id), format);
  assert.equal(
    formats.map(({ id }) => id),
    FormatId.options,
  );
});

test.run();
