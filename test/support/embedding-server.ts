/** An embedder behind HTTP, with the APIs of ollama and openai: texts that have words in common get similar vectors. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type EmbeddingRequest = {
  path: string;
  authorization: string | undefined;
  model: string;
  input: string[];
  dimensions?: number;
};

type EmbedderOptions = {
  /** Of the vectors, unless a call requests another number. */
  dimensions?: number;
  vectorOf?(text: string, dimensions: number): number[];
  /** Returns the status for a call with these texts; other than 200 it is refused. */
  refuse?(input: readonly string[]): number | Promise<number>;
};

export async function startEmbedder({
  dimensions: own = 384,
  vectorOf = wordVector,
  refuse = () => 200,
}: EmbedderOptions = {}) {
  const requests: EmbeddingRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Omit<EmbeddingRequest, 'path' | 'authorization'>;
    requests.push({ ...body, path: incoming.url ?? '', authorization: incoming.headers.authorization });
    const status = await refuse(body.input);
    const vectors = body.input.map((text) => vectorOf(text, body.dimensions ?? own));
    const answers: Record<string, unknown> = {
      '/api/embed': { model: body.model, embeddings: vectors },
      '/v1/embeddings': {
        object: 'list',
        model: body.model,
        data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse(),
        usage: { prompt_tokens: 1, total_tokens: 1 },
      },
    };
    const answer = status === 200 ? answers[incoming.url ?? ''] : { error: { message: 'refused' } };
    outgoing.writeHead(answer ? status : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    texts: () => requests.flatMap(({ input }) => input),
    close: () =>
      new Promise<void>((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** A vector to which each word adds in a direction of its own. */
export function wordVector(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0.001);
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    const hash = createHash('sha256').update(word).digest();
    const index = hash.readUInt32LE(0) % dimensions;
    vector[index] = (vector[index] ?? 0) + 1;
  }
  return vector;
}
