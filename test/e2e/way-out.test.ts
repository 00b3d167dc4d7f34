/** The service behind a company's forward proxy, with an authority of its own: streams and sockets pass, and its password is told to nobody. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { cert, key } from '../proxy/local-tls.ts';
import { echoing, socketClient, socketProvider } from '../support/responses-socket.ts';
import { anthropic } from '../support/scripted-provider/anthropic.ts';
import { idOf } from '../support/scripted-provider/script.ts';
import { echoOf } from '../support/scripted-provider.ts';
import { eventually } from '../support/serve.ts';
import { callsOf, onEmbeddedDatabase, recorded } from '../support/whole-service.ts';

const PASSWORD = 'gate-password-4711';

const provider = createSecureServer({ key, cert }, async (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const received = Buffer.concat(chunks).toString();
  const { question, stream: streamed } = anthropic.parseRequest(JSON.parse(received));
  const { stream } = anthropic.answer(
    JSON.parse(received),
    { says: echoOf(question), callsTool: false },
    idOf(received),
  );
  outgoing.writeHead(200, { 'content-type': anthropic.streamType });
  assert.ok(streamed);
  for (const event of stream) await new Promise((written) => outgoing.write(event, written));
  outgoing.end();
});
provider.on('upgrade', socketProvider(echoing).answer);
const port = await listening(provider);

/** The way that each call took, as the forward proxy saw it. */
const seen: string[] = [];
const tunnels = new Set<Socket>();
const gate = createServer((incoming, outgoing) => {
  seen.push(`${incoming.method} ${incoming.url} ${passwordIn(incoming.headers['proxy-authorization'])}`);
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"models":[]}');
});
gate.on('connect', (incoming, socket: Socket) => {
  seen.push(`CONNECT ${incoming.url} ${passwordIn(incoming.headers['proxy-authorization'])}`);
  tunnels.add(socket);
  const there = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connected\r\n\r\n');
    there.pipe(socket).pipe(there);
  });
  for (const end of [socket, there]) end.on('error', () => {});
});
const gatePort = await listening(gate);

const folder = await mkdtemp(join(tmpdir(), 'svc-way-out-'));
await writeFile(join(folder, 'ca.pem'), cert);

onEmbeddedDatabase(
  'the way out',
  (test) => {
    test('a WebSocket goes to its provider through a tunnel, and what is said on it is recorded', async ({
      service,
    }) => {
      const client = await socketClient(`${service.proxy}/openai/v1/responses`, { perMessageDeflate: false });
      client.send({ type: 'response.create', model: 'gpt-5', input: 'Over a socket, out of here' });
      await eventually('the end of a response', async () =>
        client.heard.some((text) => /response\.completed/.test(text)),
      );
      client.socket.close(1000);
      await client.closed;
      const [call] = callsOf(await recorded(service, 'Over a socket, out of here', 1));
      assert.is(call?.status, 'ok');
      assert.equal(seen.splice(0), ['CONNECT provider.example:443 with its password']);
    });

    test('so does a streamed call, and the next one through the same tunnel', async ({ service }) => {
      const ask = async (question: string) => {
        const response = await fetch(`${service.proxy}/anthropic/v1/messages`, {
          method: 'POST',
          body: JSON.stringify({
            model: 'm',
            max_tokens: 9,
            stream: true,
            messages: [{ role: 'user', content: question }],
          }),
        });
        return response.text();
      };
      for (const question of ['Is there a way out?', 'And another?'])
        assert.match(await ask(question), 'event: message_stop');
      const [call] = callsOf(await recorded(service, 'Is there a way out?', 1));
      assert.is(call?.output[0]?.text, echoOf('Is there a way out?'));
      assert.equal(seen.splice(0), ['CONNECT provider.example:443 with its password']);
    });

    test('plain http is asked of the forward proxy itself; who stands in NO_PROXY is not', async ({ service }) => {
      const plain = await fetch(`${service.proxy}/ollama/api/tags?x=%2F`);
      assert.equal(await plain.json(), { models: [] });
      assert.equal(seen.splice(0), ['GET http://models.example/api/tags?x=%2F with its password']);
      const exempt = await fetch(`${service.proxy}/v1/models`);
      assert.is(exempt.status, 502);
      assert.match(await exempt.text(), 'host name');
      assert.equal(seen, []);
    });

    test('neither the log nor an answer tells the password', ({ service }) => {
      assert.not.match(service.log(), PASSWORD);
      assert.not.match(service.banner, PASSWORD);
    });

    test.after(async () => {
      for (const socket of tunnels) socket.destroy();
      gate.close();
      provider.closeAllConnections();
      provider.close();
      await rm(folder, { recursive: true });
    });
    test.run();
  },
  {
    SVC_PROXY_UPSTREAM: 'http://exempt.invalid',
    SVC_PROXY_UPSTREAMS_ANTHROPIC: 'https://provider.example',
    SVC_PROXY_UPSTREAMS_OPENAI: 'https://provider.example',
    SVC_PROXY_UPSTREAMS_OLLAMA: 'http://models.example',
    HTTPS_PROXY: `http://me:${PASSWORD}@127.0.0.1:${gatePort}`,
    http_proxy: `http://me:${PASSWORD}@127.0.0.1:${gatePort}`,
    NO_PROXY: 'other.example, exempt.invalid',
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  },
);

function passwordIn(authorization = ''): string {
  const [, encoded = ''] = authorization.split(' ');
  return Buffer.from(encoded, 'base64').toString() === `me:${PASSWORD}` ? 'with its password' : 'without a password';
}

function listening(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
