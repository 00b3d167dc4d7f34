/** `svc serve ingest`: the ingest API alone, beside a service on the same PostgreSQL, or by itself on an embedded database. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { freePort } from '../support/free-port.ts';
import {
  acceptance,
  acceptedTurn,
  derivedSession,
  plainTurn,
  postTurn,
  rawTurnsOf,
  writesOf,
} from '../support/post-turns.ts';
import { spansOf } from '../support/read-sessions.ts';
import {
  emptyFolder,
  eventually,
  type IngestService,
  removeFolder,
  type Service,
  startIngest,
  startService,
} from '../support/serve.ts';

/** Why nobody answers at an address; '' when somebody does. */
const refusalOf = (address: string): Promise<string> =>
  fetch(`${address}/ping`, { headers: { connection: 'close' } }).then(
    () => '',
    (error: Error) => String((error.cause as NodeJS.ErrnoException).code),
  );

/** A chat that goes on, with all that was said before; nobody names it but its messages. */
const goesOn = (request_id: string, ...words: string[]) =>
  JSON.stringify({
    provider: 'openai',
    request: {
      model: 'gpt-4o-mini',
      messages: words.map((content, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content })),
    },
    response: { message: { content: `Answer ${words.length}` }, stop_reason: 'stop' },
    meta: { request_id },
  });

type Beside = {
  whole: Service;
  alone: IngestService;
  dsn: string;
  /** Where read API and proxy would listen, were they there. */
  ports: number[];
  undo: (() => Promise<unknown>)[];
};
const beside = suite<Beside>('svc serve ingest beside svc serve (server)');

beside.before(async (context) => {
  context.undo = [];
  const { dsn, drop } = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
  context.undo.unshift(drop);
  const folder = await emptyFolder();
  context.undo.unshift(() => removeFolder(folder));
  const env = { SVC_STORAGE_POSTGRES_DSN: dsn };
  const [api, proxy] = [await freePort(), await freePort()];
  const others = { SVC_API_LISTEN: `:${api}`, SVC_PROXY_LISTEN: `:${proxy}` };
  context.whole = await startService(folder, env);
  context.undo.unshift(() => context.whole.stop());
  context.alone = await startIngest(folder, { ...env, ...others, SVC_API_TOKEN: 'only-the-read-api-asks-for-it' });
  context.undo.unshift(() => context.alone.stop());
  Object.assign(context, { dsn, ports: [api, proxy] });
});
beside.after(async ({ undo }) => {
  for (const step of undo) await step();
});

beside('the ingest API alone, as a sidecar: what one takes in the other derives', async ({ whole, alone }) => {
  const { session_id } = await acceptedTurn(alone, plainTurn('sidecar'));
  const session = await derivedSession(whole, session_id, 1);
  assert.is(session.traces[0]?.trace.response_preview, 'Answer to Question sidecar');
});

beside('a conversation goes on in its session, whoever takes in its calls', async ({ whole, alone }) => {
  const one = await acceptedTurn(alone, goesOn('goes on 1', 'Hello'));
  const two = await acceptedTurn(whole, goesOn('goes on 2', 'Hello', 'Answer 1', 'And?'));
  const three = await acceptedTurn(alone, goesOn('goes on 3', 'Hello', 'Answer 1', 'And?', 'Answer 3', 'More'));
  assert.equal([two.session_id, three.session_id], [one.session_id, one.session_id]);
  const session = await derivedSession(whole, one.session_id, 3);
  assert.equal(
    spansOf(session, 'llm').map(({ output }) => output[0]?.text),
    ['Answer 1', 'Answer 3', 'Answer 5'],
  );
});

beside('the same request ids at two processes at once: each turn is kept once', async ({ whole, alone }) => {
  const ids = Array.from({ length: 40 }, (_, n) => `both ${n}`);
  const [here, there] = await Promise.all([
    Promise.all(ids.map((id) => acceptedTurn(alone, plainTurn(id)))),
    Promise.all(ids.toReversed().map((id) => acceptedTurn(whole, plainTurn(id)))),
  ]);
  for (const [n, id] of ids.entries()) {
    const both = [here[n], there.at(-1 - n)];
    assert.equal(both.map((one) => one?.deduped).sort(), [false, true], id);
    assert.is(both[0]?.raw_turn_id, both[1]?.raw_turn_id, id);
  }
});

beside('GET /ping, /openapi and /metrics: health, its own contract, and what it counts', async ({ whole, alone }) => {
  assert.equal(await (await fetch(`${alone.ingest}/ping`)).json(), { status: 'ok' });
  const [contract, same] = await Promise.all(
    [alone, whole].map(async ({ ingest }) => (await fetch(`${ingest}/openapi`)).json()),
  );
  assert.equal(contract, same);
  const metrics = await (await fetch(`${alone.ingest}/metrics`)).text();
  assert.match(metrics, /^svc_build_info\{[^}]*role="ingest"\} 1$/m);
  const before = await writesOf(alone, 'openai', 'accepted');
  await acceptedTurn(alone, plainTurn('counted here'));
  assert.is(await writesOf(alone, 'openai', 'accepted'), before + 1);
});

beside('no read API and no proxy: neither at its address nor at theirs', async ({ alone, ports }) => {
  for (const path of ['/v1/sessions', '/v1/stats', '/swagger', '/v1/messages', '/anthropic/v1/messages', '/api/chat'])
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${alone.ingest}${path}`, { method });
      assert.equal([response.status, Object.keys((await response.json()) as object)], [404, ['error']], path);
    }
  for (const port of ports) {
    assert.is(await refusalOf(`http://127.0.0.1:${port}`), 'ECONNREFUSED');
  }
  assert.not.match(alone.banner, /proxy|read API/);
});

beside('the ingest API is private: it asks for no token, and access is left to the deployment', async ({ alone }) => {
  assert.is((await postTurn(alone, plainTurn('without a token'))).status, 202, 'the token is the read API’s');
  assert.is((await fetch(`${alone.ingest}/metrics`)).status, 200);
});

beside('SIGTERM: a turn whose body is still coming is taken in and answered, then it ends', async ({ whole, dsn }) => {
  const folder = await emptyFolder();
  const service = await startIngest(folder, { SVC_STORAGE_POSTGRES_DSN: dsn });
  try {
    const body = Buffer.from(plainTurn('under way'));
    const headers = { 'content-type': 'application/json', 'content-length': body.byteLength, expect: '100-continue' };
    const call = request(`${service.ingest}/v1/ingest`, { method: 'POST', headers });
    const answer = once(call, 'response') as Promise<[IncomingMessage]>;
    answer.catch(() => {}); // is waited for below
    await once(call, 'continue'); // so it is being read
    call.write(body.subarray(0, 100));
    const ended = service.stop();
    await eventually('new connections to be refused', async () => (await refusalOf(service.ingest)) === 'ECONNREFUSED');
    call.end(body.subarray(100));
    const [response] = await answer;
    let text = '';
    for await (const chunk of response) text += chunk;
    const { session_id } = acceptance({ status: response.statusCode ?? 0, text, headers: new Headers() });
    assert.is(await ended, 0);
    assert.is((await rawTurnsOf(whole, session_id)).length, 1);
  } finally {
    await service.stop();
    await removeFolder(folder);
  }
});

if (!process.env.SVC_TEST_DSN) console.log('skip: svc serve ingest beside svc serve (server): SVC_TEST_DSN is not set');
else beside.run();

const failure = (started: Promise<unknown>): Promise<string> =>
  started.then(
    () => 'it started',
    (error: Error) => error.message,
  );

const embedded = suite('svc serve ingest (embedded)');

embedded('alone it takes turns in, holds its folder, and a later svc serve derives them', async () => {
  const folder = await folderWithDatabase();
  const alone = await startIngest(folder);
  try {
    assert.match(alone.banner, `data            ${folder}`);
    const { session_id } = await acceptedTurn(alone, plainTurn('alone'));
    const second = await failure(startService(folder));
    assert.match(second, /ended with 1:/);
    assert.match(second, `process ${alone.pid} has used it since`);
    assert.is(await alone.stop(), 0);

    const whole = await startService(folder);
    try {
      const session = await derivedSession(whole, session_id, 1);
      assert.is(session.traces[0]?.trace.user_prompt, 'Question alone');

      const third = await failure(startIngest(folder));
      assert.match(third, /^svc serve ingest ended with 1:/, 'on a folder that svc serve holds');
      assert.match(third, `process ${whole.pid} has used it since`);
      assert.match(third, 'stop that process, or start in another directory');
      assert.not.match(third, /\n\s+at /, 'without a stack');
      assert.is((await acceptedTurn(whole, plainTurn('alone'))).deduped, true, 'the holder goes on');
    } finally {
      await whole.stop();
    }
  } finally {
    await alone.stop();
    await removeFolder(folder);
  }
});

embedded.run();
