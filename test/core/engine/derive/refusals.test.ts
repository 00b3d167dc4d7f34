/** A call that was refused shows why, in the words of whoever refused it, in every format and from whatever stands before a provider. */
import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import type { FormatId } from '../../../../core/provider/formats.ts';
import { capturedCall, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const REQUESTS: Record<FormatId, unknown> = {
  'anthropic.messages': { model: 'claude-sonnet-4-5', max_tokens: 10, messages },
  'gemini.generate': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  'openai.chat': { model: 'gpt-4o-mini', messages },
  'openai.responses': { model: 'gpt-5', input: 'Hello' },
  'ollama.chat': { model: 'qwen3:8b', messages },
  'ollama.generate': { model: 'qwen3:8b', prompt: 'Hello' },
};
const formats = Object.keys(REQUESTS) as FormatId[];

type Refused = [status: number, body: unknown, expected: [error_type: string, error_message: string]];

/** As each provider documents its errors. */
const OWN: [FormatId, ...Refused][] = [
  [
    'anthropic.messages',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 215000 tokens > 200000 maximum' },
      request_id: 'req_1',
    },
    ['invalid_request_error', 'prompt is too long: 215000 tokens > 200000 maximum'],
  ],
  [
    'openai.chat',
    429,
    {
      error: {
        message: 'You exceeded your current quota',
        type: 'insufficient_quota',
        param: null,
        code: 'insufficient_quota',
      },
    },
    ['insufficient_quota', 'You exceeded your current quota'],
  ],
  [
    'openai.responses',
    404,
    { error: { message: "Previous response with id 'resp_1' not found", type: 'invalid_request_error', code: null } },
    ['invalid_request_error', "Previous response with id 'resp_1' not found"],
  ],
  ['openai.responses', 400, { detail: 'Unsupported model' }, ['error', 'Unsupported model']],
  [
    'ollama.chat',
    404,
    { error: 'model "qwen3:8b" not found, try pulling it first' },
    ['error', 'model "qwen3:8b" not found, try pulling it first'],
  ],
  [
    'ollama.generate',
    500,
    { error: 'llama runner process has terminated' },
    ['error', 'llama runner process has terminated'],
  ],
  [
    'gemini.generate',
    400,
    { error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT', details: [{ '@type': 'x' }] } },
    ['INVALID_ARGUMENT', 'API key not valid'],
  ],
  [
    'gemini.generate',
    429,
    [{ error: { code: 429, message: 'Resource has been exhausted', status: 'RESOURCE_EXHAUSTED' } }],
    ['RESOURCE_EXHAUSTED', 'Resource has been exhausted'],
  ],
];

/** What stands before a provider knows none of the formats. */
const FOREIGN: Refused[] = [
  [502, '<html>\r\n<head><title>502 Bad Gateway</title></head><body>…</body></html>', ['http_502', '502 Bad Gateway']],
  [
    503,
    'upstream connect error or disconnect/reset before headers\n',
    ['http_503', 'upstream connect error or disconnect/reset before headers'],
  ],
  [404, '404 page not found', ['http_404', '404 page not found']],
  [403, { message: 'Missing Authentication Token' }, ['http_403', 'Missing Authentication Token']],
  [400, { message: 'Input is too long', code: 'ValidationException' }, ['ValidationException', 'Input is too long']],
  [422, { detail: [{ loc: ['body'], msg: 'field required', type: 'missing' }] }, ['http_422', 'field required']],
  [401, { errors: [{ message: 'Unknown key' }] }, ['http_401', 'Unknown key']],
  [500, '', ['http_500', '']],
  [500, { ok: false }, ['http_500', '']],
  [500, Buffer.from([0xff, 0xfe, 0x00]), ['http_500', '']],
];

databaseSuite('why calls were refused', (test, database) => {
  const errorOf = async (
    format: FormatId,
    [status, body]: readonly [number, unknown, ...unknown[]],
    coding?: 'gzip',
  ) => {
    await database().reset();
    const bytes = body instanceof Buffer ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const call = capturedCall({
      ...{ n: 1, format, status, request: REQUESTS[format] },
      response: coding ? gzipSync(bytes) : bytes,
      responseHeaders: coding ? [['content-encoding', coding]] : [],
    });
    await takeIn(database(), [call]);
    await deriveAll(database());
    const [span, ...others] = await database().sql(
      "select status, error_type, error_message from svc.spans where kind = 'llm'",
    );
    assert.equal([span?.status, others.length], ['error', 0], format);
    return [span?.error_type, span?.error_message];
  };

  test("each provider's own sentence", async () => {
    for (const [format, ...refused] of OWN) {
      assert.equal(await errorOf(format, refused), refused[2], format);
      assert.equal(await errorOf(format, refused, 'gzip'), refused[2], `${format} under gzip`);
    }
    assert.equal([...new Set(OWN.map(([format]) => format))].sort(), [...formats].sort());
  });

  test('the sentence of a gateway, in every format', async () => {
    for (const [n, refused] of FOREIGN.entries()) {
      const format = formats[n % formats.length] ?? 'openai.chat';
      assert.equal(await errorOf(format, refused), refused[2], `${format} ${JSON.stringify(refused[1])}`);
    }
    for (const format of formats) {
      const [page] = FOREIGN;
      if (page) assert.equal(await errorOf(format, page, 'gzip'), page[2], format);
    }
  });

  test('an answer that cannot be read and is no refusal says nothing of the kind', async () => {
    await takeIn(database(), [
      capturedCall({ n: 9, request: REQUESTS['openai.chat'], response: '<title>Sign in</title>' }),
    ]);
    await deriveAll(database());
    const spans = await database().sql("select error_message from svc.spans where kind = 'llm' and name like 'gpt%'");
    assert.equal(
      spans.map(({ error_message }) => error_message),
      [''],
    );
  });
});
