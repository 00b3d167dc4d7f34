import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startRemote } from '../../../../core/cassette/isolation/remote.ts';
import { CassetteDown, type RunningCassette } from '../../../../core/cassette/running.ts';

const test = suite('remote');

async function served(
  listener: RequestListener,
  use: (running: RunningCassette, server: Server) => Promise<void>,
): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const running = startRemote({ address: new URL(`http://127.0.0.1:${port}/some/openapi`), name: 'far' });
  try {
    await use(running, server);
  } finally {
    await running.close(100);
    server.closeAllConnections();
    server.close();
  }
}

const ask = (running: RunningCassette, path: string, init?: RequestInit) =>
  running.fetch(new Request(`http://anywhere.example${path}`, init));
const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('the origin of its document is asked, and bodies pass both ways', async () => {
  await served(
    (request, response) => {
      response.writeHead(201, {
        'set-cookie': ['a=1', 'b=2'],
        'x-told': `${request.method} ${request.url} ${request.headers.host}`,
      });
      request.pipe(response);
    },
    async (running) => {
      const answer = await ask(running, '/api/far/x?y=1', {
        method: 'POST',
        body: 'echoed',
        headers: { host: 'anywhere.example' },
      });
      assert.is(answer.status, 201);
      assert.match(answer.headers.get('x-told') ?? '', /^POST \/api\/far\/x\?y=1 127\.0\.0\.1:\d+$/);
      assert.equal(answer.headers.getSetCookie(), ['a=1', 'b=2']);
      assert.is(await answer.text(), 'echoed');
      assert.is(running.confinement.level, 'none');
      assert.is(running.loaded, null);
    },
  );
});

test('it is not followed elsewhere', async () => {
  let requests = 0;
  await served(
    (_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/elsewhere' }).end();
    },
    async (running) => {
      const answer = await ask(running, '/ping');
      assert.is(answer.status, 302);
      assert.is(requests, 1);
    },
  );
});

test('an answer streams at the pace of its reader, who may leave', async () => {
  let closed = false;
  let written = 0;
  await served(
    (_request, response) => {
      const more = () => {
        while (!closed && written < 1e9) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) break;
        }
      };
      response.on('drain', more);
      response.on('close', () => {
        closed = true;
      });
      more();
    },
    async (running) => {
      const answer = await ask(running, '/endless');
      const reader = answer.body?.getReader();
      await reader?.read();
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.ok(written < 50_000_000, `${written} bytes were sent to one who read a chunk`);
      await reader?.cancel();
      while (!closed) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  );
});

test('an answer that breaks off is never taken for a whole one', async () => {
  await served(
    (_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
      setTimeout(() => response.destroy(), 50);
    },
    async (running) => {
      const answer = await ask(running, '/half');
      const error = await thrown(answer.text());
      assert.is((error as CassetteDown).kind, 'broken');
    },
  );
});

test('one who closes the connection broke over this request; one who is not there is unavailable', async () => {
  await served(
    (request) => {
      request.socket.destroy();
    },
    async (running, server) => {
      const broken = await thrown(ask(running, '/'));
      assert.is((broken as CassetteDown).kind, 'broken');
      server.close();
      await once(server, 'close');
      const gone = await thrown(ask(running, '/'));
      assert.instance(gone, CassetteDown);
      assert.is((gone as CassetteDown).kind, 'unavailable');
      assert.is(running.liveness().reason, 'ECONNREFUSED');
    },
  );
});

test('a caller who leaves ends the request there', async () => {
  let left = false;
  const caller = new AbortController();
  await served(
    (request) => {
      request.on('close', () => {
        left = true;
      });
      caller.abort(); // once it is there: sooner, nobody would hear of it
    },
    async (running) => {
      const answer = thrown(ask(running, '/hangs', { signal: caller.signal }));
      assert.is(((await answer) as Error).name, 'AbortError');
      while (!left) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  );
});

test('no message shows what else stands in its address', async () => {
  const running = startRemote({ address: new URL('http://user:secret@127.0.0.1:1/openapi?key=secret'), name: 'far' });
  const error = await thrown(ask(running, '/x'));
  assert.instance(error, CassetteDown);
  assert.not.match((error as Error).message, 'secret');
  await running.close(0);
  assert.is(((await thrown(ask(running, '/x'))) as CassetteDown).kind, 'unavailable');
});

test.run();
