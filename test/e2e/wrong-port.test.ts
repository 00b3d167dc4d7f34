/** What does a provider's client read that was pointed at the read API or the ingest API? The address of the proxy beside it. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFolder, removeFolder, type Service, startService } from '../support/serve.ts';

const test = suite('clients at the wrong port');

let service: Service;
let folder: string;
test.before(async () => {
  folder = await emptyFolder();
  service = await startService(folder, { SVC_API_TOKEN: 'open-sesame-1' });
});
test.after(async () => {
  await service.stop();
  await removeFolder(folder);
});

type Refused = { status?: number; status_code?: number; message: string };
const messages = [{ role: 'user' as const, content: 'Hello' }];
const thrownBy = async (ask: () => Promise<unknown>): Promise<{ status: number | undefined; message: string }> => {
  const { status, status_code, message } = (await ask().then(
    () => assert.unreachable('there was an answer'),
    (thrown: unknown) => thrown,
  )) as Refused;
  return { status: status ?? status_code, message };
};

const clients = (base: string): [ask: () => Promise<unknown>, provider: string, path: string][] => [
  [
    () =>
      new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 }).messages.create({
        model: 'm',
        max_tokens: 9,
        messages,
      }),
    'anthropic',
    '/anthropic',
  ],
  [
    () => new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 }).models.list().withResponse(),
    'anthropic',
    '/anthropic',
  ],
  [
    () =>
      new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 }).chat.completions.create({
        model: 'm',
        messages,
      }),
    'openai',
    '/openai/v1',
  ],
  [
    () =>
      new OpenAI({ baseURL: `${base}/openai/v1`, apiKey: 'k', maxRetries: 0 }).responses.create({
        model: 'm',
        input: '',
      }),
    'openai',
    '/openai/v1',
  ],
  [
    () =>
      new GoogleGenAI({ apiKey: 'k', vertexai: false, httpOptions: { baseUrl: base } }).models.generateContent({
        model: 'm',
        contents: 'Hello',
      }),
    'gemini',
    '/gemini',
  ],
  [() => new Ollama({ host: base }).chat({ model: 'm', messages }), 'ollama', '/ollama'],
];

for (const listener of ['api', 'ingest'] as const)
  test(`those that come to the ${listener} listener read where the proxy has them`, async () => {
    const what = listener === 'api' ? 'read API' : 'ingest API';
    const base = service[listener].replace('localhost', '127.0.0.1');
    const proxy = `http://127.0.0.1:${new URL(service.proxy).port}`;
    for (const [ask, provider, path] of clients(base)) {
      const { status, message } = await thrownBy(ask);
      assert.is(status, 404, provider);
      assert.match(message, `Cannot answer: this is the ${what} of svc; calls to ${provider} go to ${proxy}${path}`);
    }
  });

test('what the listeners say themselves stays as it is', async () => {
  const nothing = await fetch(`${service.api}/v1/nothing`, { headers: { authorization: 'Bearer open-sesame-1' } });
  assert.equal([nothing.status, nothing.headers.get('content-type')], [404, 'application/problem+json']);
  assert.is((await fetch(`${service.api}/v1/sessions`)).status, 401);
  const rejected = await fetch(`${service.ingest}/v1/messages`, { method: 'POST', body: '{}' });
  assert.equal(Object.keys((await rejected.json()) as object), ['error'], 'the envelope of the ingest API');
  const page = await fetch(`${service.api}/v1/messages`, {
    method: 'POST',
    headers: { origin: 'http://evil.example' },
  });
  assert.is(page.status, 403);
});

test.run();
