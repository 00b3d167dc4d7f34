import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { localDimensions, localEmbedder } from '../../../cassettes/search/local.ts';
import { embedInThread, forgetInThread } from '../../../cassettes/search/model-thread.ts';
import { MODELS } from '../../support/search.ts';

const test = suite('search: the local model');

const given = { model: '', models: MODELS, dimensions: 0 };
const local = () => localEmbedder(given);
const failure = async (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => assert.unreachable() as never,
    (error: Error) => error,
  );

type Reference = { text: string; vector: string };

/** Of 1e-4 each, as a forward pass in 64-bit floats, written apart from this code, gave them. */
const numbers = (packed: string): number[] => {
  const bytes = Buffer.from(packed, 'base64');
  return Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i) / 10_000);
};

test('the first values of "This is an example sentence" are those that the authors of the model publish', async () => {
  const [vector] = await local().embed(['This is an example sentence']);
  const first = (vector ?? []).slice(0, 5).map((value) => value.toFixed(5));
  assert.equal(first, ['0.06766', '0.06356', '0.04873', '0.07941', '0.03745']);
});

test('twelve sentences have their reference vectors, to a thousandth', async () => {
  const references: Reference[] = JSON.parse(
    await readFile(new URL('./reference-vectors.json', import.meta.url), 'utf8'),
  );
  assert.is(references.length, 12);
  const vectors = await local().embed(references.map(({ text }) => text));
  for (const [i, { text, vector }] of references.entries()) {
    const expected = numbers(vector);
    assert.is(vectors[i]?.length, 384);
    const off = Math.max(...expected.map((value, at) => Math.abs(value - (vectors[i]?.[at] ?? Number.NaN))));
    assert.ok(off < 1e-3, `"${text}" is off by ${off}`);
  }
});

test('a vector does not depend on what is embedded beside it', async () => {
  const [alone] = await local().embed(['one text']);
  const [, among] = await local().embed([
    'a much longer text that stands before it, and would have it padded',
    'one text',
  ]);
  assert.equal(among, alone);
});

test('a text of any length gets a vector, an empty one too', async () => {
  const vectors = await local().embed(['', 'word '.repeat(5000), '\u0000\ud800']);
  assert.equal(
    vectors.map((vector) => vector.length),
    [384, 384, 384],
  );
});

test('a question does not wait for the texts that are in line', async () => {
  const ended: string[] = [];
  const batch = local()
    .embed(Array.from({ length: 8 }, (_, i) => `in line ${i}`))
    .then(() => ended.push('batch'));
  const question = local()
    .embed(['a question'], { urgent: true })
    .then(() => ended.push('question'));
  await Promise.all([batch, question]);
  assert.equal(ended, ['question', 'batch']);
});

test('a batch that is called off ends after the text under way', async () => {
  const calling = new AbortController();
  const batch = local().embed(
    Array.from({ length: 1000 }, (_, i) => `text ${i}`),
    { signal: calling.signal },
  );
  calling.abort();
  assert.match((await failure(batch)).message, /called off/);
});

test('the model is made once, out of the package, and whole or not at all', async () => {
  const models = await mkdtemp(join(tmpdir(), 'svc-models-'));
  try {
    const embedder = localEmbedder({ ...given, models });
    await Promise.all([embedder.embed(['one']), localEmbedder({ ...given, models }).embed(['two'])]);
    assert.ok(existsSync(join(models, 'all-MiniLM-L6-v2/onnx/model.onnx')));
    assert.ok(existsSync(join(models, 'all-MiniLM-L6-v2/tokenizer.json')));
  } finally {
    await rm(models, { recursive: true, force: true });
  }
});

test('a folder of ones own is a model as well, and one that holds none is no embedder', async () => {
  const own = localEmbedder({ ...given, model: join(MODELS, 'all-MiniLM-L6-v2') });
  assert.equal(await own.embed(['text']), await local().embed(['text']));
  assert.throws(
    () => localEmbedder({ ...given, model: 'no-such-model' }),
    (error: Error) => error.name === 'NoEmbedder',
  );
});

test('a models folder that cannot be written is no embedder', async () => {
  const error = await failure(localEmbedder({ ...given, models: '/dev/null/models' }).embed(['text']));
  assert.is(error.name, 'NoEmbedder');
});

test('one thread serves all models, and goes on after those that cannot be loaded', async () => {
  const expected = await local().embed(['text']);
  let started = 0;
  const count = () => {
    started += 1;
  };
  process.on('worker', count);
  for (let i = 0; i < 5; i++)
    await failure(localEmbedder({ ...given, models: `/dev/null/models-${i}` }).embed(['text']));
  assert.equal(await local().embed(['text']), expected);
  process.off('worker', count);
  assert.is(started, 0, 'a thread that ends takes the native library of the others with it');
});

test('a model that was forgotten is loaded again', async () => {
  const source = { folder: join(MODELS, 'all-MiniLM-L6-v2'), build: false };
  const before = await embedInThread(source, 'text');
  forgetInThread(source);
  assert.equal(await embedInThread(source, 'text'), before);
});

test('dimensions that are not the model’s are told before anything is embedded', () => {
  assert.is(localDimensions(given), 384);
  assert.is(localDimensions({ model: 'no-such-model', models: MODELS }), null);
});

test.run();
