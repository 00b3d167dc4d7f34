/** The service as its operator meets it: it starts, refuses what cannot be, survives large bodies, and stops without a loss. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { residentBytes } from '../support/resident.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';

const MIB = 1_048_576;
const test = suite('the life of a service');

type Coverage = { requests: number; outcomes: Record<string, number> };

/** Sends one streamed question; resolves with the answer's text when it has ended. */
const ask = (service: Service, question: string, begun: () => void = () => {}): Promise<string> =>
  new Promise((done, fail) => {
    const call = request(
      `${service.proxy}/anthropic/v1/messages`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.once('data', begun);
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => done(text));
        response.on('error', fail);
      },
    );
    call.on('error', fail);
    call.end(
      JSON.stringify({ model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: question }] }),
    );
  });

test('a stream under way when it is asked to stop still ends, is kept, and is there after the next start', async () => {
  const folder = await emptyFolder();
  const provider = await startScriptedProvider({ delayMs: 150 });
  const env = { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url };
  try {
    const service = await startService(folder, env);
    let begun = () => {};
    const first = new Promise<void>((seen) => {
      begun = seen;
    });
    const answer = ask(service, 'How long does a stream take that is asked to end in the middle?', begun);
    await first;
    const status = service.stop();
    assert.match(await answer, 'event: message_stop', 'the stream was let finish');
    assert.is(await status, 0);
    const refused = await ask(service, 'Too late').catch((error: NodeJS.ErrnoException) => error.code);
    assert.is(refused, 'ECONNREFUSED');

    const again = await startService(folder, env);
    // on a busy machine the journal may hold it until the next start, which takes it in beside whoever reads
    const coverage = await eventually('the ledger', async () => {
      const ledger = await read<Coverage>(`${again.api}/v1/coverage`);
      return ledger.requests > 0 && ledger;
    });
    assert.equal([coverage.requests, coverage.outcomes.captured], [1, 1]);
    const { items } = await read<{ items: { id: string }[] }>(`${again.api}/v1/sessions`);
    assert.is(items.length, 1);
    assert.is(await again.stop(), 0);
  } finally {
    await provider.close();
    await removeFolder(folder);
  }
});

test('a second service on the same folder is told who holds it', async () => {
  const folder = await emptyFolder();
  const service = await startService(folder);
  try {
    const error = await startService(folder).catch((error: Error) => error);
    assert.instance(error, Error);
    assert.match((error as Error).message, /ended with 1/);
    assert.match((error as Error).message, String(service.pid));
    assert.is((await fetch(`${service.api}/ping`)).status, 200, 'the first one goes on');
  } finally {
    await service.stop();
    await removeFolder(folder);
  }
});

test('a wrong setting is one clear error, and nothing is started', async () => {
  const folder = await emptyFolder();
  try {
    const error = await startService(folder, { SVC_PROXY_PROVIDER: 'antropic', SVC_API_LISTN: ':1' }).catch(
      (error: Error) => error,
    );
    assert.match((error as Error).message, /ended with 2/);
    assert.match((error as Error).message, 'SVC_PROXY_PROVIDER');
    assert.match((error as Error).message, 'SVC_API_LISTN');
  } finally {
    await removeFolder(folder);
  }
});

test('200 MB up and 200 MB down pass whole, and each makes the service grow by less than 64 MB', async () => {
  const size = 200 * MIB;
  const folder = await emptyFolder();
  const paths: string[] = [];
  const upstream = createServer((incoming, outgoing) => {
    paths.push(incoming.url ?? '');
    let received = 0;
    incoming.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    incoming.on('end', () => {
      if (incoming.url?.startsWith('/v1/messages')) outgoing.end(String(received));
      else pour(outgoing, size);
    });
  });
  await new Promise<void>((ready) => upstream.listen(0, '127.0.0.1', ready));
  const service = await startService(folder, {
    SVC_PROXY_UPSTREAMS_ANTHROPIC: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
  });
  try {
    for (let i = 0; i < 3; i++) await transfer(service, '/v1/messages', MIB); // buffers and code are there afterwards
    const ledger = (requests: number) =>
      eventually('the ledger', async () => {
        const coverage = await read<Coverage>(`${service.api}/v1/coverage`);
        return coverage.requests === requests && coverage;
      });
    await ledger(3);
    const grownBy = async (work: () => Promise<void>): Promise<number> => {
      const pids = Object.values(service.processes());
      const before = residentBytes(...pids);
      let peak = before;
      const watch = setInterval(() => {
        peak = Math.max(peak, residentBytes(...pids));
      }, 20);
      await work();
      clearInterval(watch);
      return (peak - before) / MIB;
    };
    const up = await grownBy(async () => {
      assert.is(await transfer(service, '/v1/messages?beta=true&a=%2F..%2f', size), String(size));
    });
    const down = await grownBy(async () => {
      assert.is(await transfer(service, '/v1/files//x', 0), `${size} bytes`);
    });
    assert.ok(up < 64, `the process grew by ${up.toFixed(0)} MB with the upload`);
    assert.ok(down < 64, `the process grew by ${down.toFixed(0)} MB with the download`);
    assert.equal(paths.slice(-2), ['/v1/messages?beta=true&a=%2F..%2f', '/v1/files//x'], 'byte for byte');
    const { outcomes } = await ledger(5);
    assert.is(outcomes.over_limit, 1, `too large to keep, and said so: ${JSON.stringify(outcomes)}`);
  } finally {
    await service.stop();
    upstream.close();
    await removeFolder(folder);
  }
});

/** Posts that many bytes in chunks; resolves with a short answer's text, or with the size of a long one. */
const transfer = (service: Service, path: string, bytes: number): Promise<string> =>
  new Promise((done, fail) => {
    const call = request(
      `${service.proxy}/anthropic${path}`,
      { method: 'POST', headers: { 'transfer-encoding': 'chunked' } },
      (response) => {
        let received = 0;
        let text = '';
        response.on('data', (chunk: Buffer) => {
          received += chunk.length;
          if (received < 100) text += chunk.toString();
        });
        response.on('end', () => done(received < 100 ? text : `${received} bytes`));
        response.on('error', fail);
      },
    );
    call.on('error', fail);
    pour(call, bytes);
  });

const chunk = Buffer.alloc(65_536, 'x');

/** Writes that many bytes at the reader's pace, then ends. */
function pour(
  into: { write(chunk: Buffer): boolean; once(event: 'drain', then: () => void): unknown; end(): unknown },
  bytes: number,
) {
  let left = bytes;
  const more = () => {
    while (left > 0) {
      const piece = chunk.subarray(0, Math.min(left, chunk.length));
      left -= piece.length;
      if (!into.write(piece)) {
        into.once('drain', more);
        return;
      }
    }
    into.end();
  };
  more();
}

test.run();
