import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Embedder } from '../../../cassettes/search/embedder.ts';
import { ollamaEmbedder } from '../../../cassettes/search/ollama.ts';
import { openaiEmbedder } from '../../../cassettes/search/openai.ts';
import { startEmbedder, wordVector } from '../../support/embedding-server.ts';

const test = suite('search: embedders behind HTTP');

type Server = Awaited<ReturnType<typeof startEmbedder>>;
const withServer = async (given: Parameters<typeof startEmbedder>[0], work: (server: Server) => Promise<void>) => {
  const server = await startEmbedder(given);
  try {
    await work(server);
  } finally {
    await server.close();
  }
};
const ollama = (target: string, more = {}) => ollamaEmbedder({ target, model: '', dimensions: 0, ...more });
const openai = (target: string, more = {}) =>
  openaiEmbedder({ target: `${target}/v1`, model: '', dimensions: 0, key: 'sk-test', ...more });
const failureOf = async (embedder: Embedder): Promise<{ name: string; kind: string; message: string }> =>
  embedder.embed(['the text']).then(
    () => assert.unreachable() as never,
    (error) => error,
  );

test('ollama is asked by POST /api/embed, several texts in one call', () =>
  withServer({ dimensions: 768 }, async ({ url, requests }) => {
    const embedder = ollama(`${url}/`);
    const vectors = await embedder.embed(['one', 'two']);
    assert.equal(requests, [
      { path: '/api/embed', authorization: undefined, model: 'embeddinggemma', input: ['one', 'two'] },
    ]);
    assert.equal(vectors, [wordVector('one', 768), wordVector('two', 768)]);
    assert.is(embedder.model, 'ollama/embeddinggemma');
  }));

test('ollama is told the model and the dimensions that were chosen', () =>
  withServer({}, async ({ url, requests }) => {
    const embedder = ollama(url, { model: 'nomic-embed-text', dimensions: 256 });
    const [vector] = await embedder.embed(['one']);
    assert.is(vector?.length, 256);
    assert.is(requests[0]?.model, 'nomic-embed-text');
    assert.is(requests[0]?.dimensions, 256);
    assert.is(embedder.model, 'ollama/nomic-embed-text@256');
  }));

test('openai is asked with the key, and its vectors are put in the order of the texts', () =>
  withServer({}, async ({ url, requests }) => {
    const embedder = openai(url);
    const vectors = await embedder.embed(['one', 'two', 'three']);
    assert.equal(
      vectors,
      ['one', 'two', 'three'].map((text) => wordVector(text, 1024)),
    );
    const [{ path, authorization, model, dimensions } = {}] = requests as Partial<(typeof requests)[number]>[];
    assert.equal(
      [path, authorization, model, dimensions],
      [...['/v1/embeddings', 'Bearer sk-test', 'text-embedding-3-large', 1024]],
    );
    assert.is(embedder.model, 'openai/text-embedding-3-large@1024');
  }));

test('openai’s dimensions are the model’s own when only the model was chosen', () =>
  withServer({ dimensions: 512 }, async ({ url, requests }) => {
    const embedder = openai(url, { model: 'text-embedding-3-small' });
    assert.is((await embedder.embed(['one']))[0]?.length, 512);
    assert.is(requests[0]?.dimensions, undefined);
  }));

test('openai needs a key, a server of ones own may need none', () => {
  const keyless = { model: '', dimensions: 0, key: '' };
  assert.throws(
    () => openaiEmbedder({ ...keyless, target: '' }),
    (error: Error) => error.name === 'NoEmbedder',
  );
  assert.ok(openaiEmbedder({ ...keyless, target: 'http://localhost:1234/v1' }));
});

test('a text that is refused is told from an embedder that fails, and from one that is away', async () => {
  const kinds: Record<number, string> = {
    400: 'text',
    413: 'text',
    422: 'text',
    500: 'answer',
    401: 'away',
    404: 'away',
  };
  for (const [status, kind] of Object.entries(kinds)) {
    await withServer({ refuse: () => Number(status) }, async ({ url }) => {
      for (const embedder of [ollama(url), openai(url)]) {
        const failure = await failureOf(embedder);
        assert.is(failure.name, 'EmbeddingFailed');
        assert.is(failure.kind, kind, `${embedder.model} ${status}`);
        assert.not.match(failure.message, /the text/);
      }
    });
  }
  for (const embedder of [ollama('http://127.0.0.1:9'), openai('http://127.0.0.1:9')])
    assert.is((await failureOf(embedder)).kind, 'away');
});

test('vectors of another length than asked for are refused', () =>
  withServer({}, async ({ url }) => {
    const deaf = ollama(url, { dimensions: 5 });
    const { embed } = deaf;
    assert.is((await embed(['one']))[0]?.length, 5);
    const { checkedVectors } = await import('../../../cassettes/search/embedder.ts');
    const check = (vectors: unknown, dimensions = 0) => checkedVectors('x', vectors, { texts: 1, dimensions });
    assert.throws(() => check([[1, 2]], 3), /2 dimensions, and embedding.dimensions says 3/);
    for (const broken of [null, [], [[]], [[Number.NaN]], [['1']], [[1], [2]], { 0: [1] }])
      assert.throws(() => check(broken), /did not answer with a vector for each text/);
  }));

test.run();
