import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { createServer, connect as dial, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Progress } from '../../../../core/cassette/contract.ts';
import { openBridge } from '../../../../core/cassette/isolation/bridge.ts';
import { OUTPUT_LIMITS, openGate } from '../../../../core/cassette/isolation/output.ts';
import type { Bindings, HandedDb } from '../../../../core/cassette/running.ts';
import { eventually } from '../../../support/eventually.ts';
import { withRowTexts } from '../../../support/row-texts.ts';
import { type LoggedLine, recordedLog } from '../../../support/started-cassette.ts';
import { within } from '../../../support/within.ts';

const test = suite('bridge');

/** What a process could say that does not speak through our runner. */
async function bridged(
  handed: Partial<Bindings>,
  use: (session: ClientHttp2Session, socket: Socket, lines: LoggedLine[]) => Promise<void>,
  { progressed = () => {}, idleMs = 60_000 }: { progressed?: (progress: Progress) => void; idleMs?: number } = {},
): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const socket = dial(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  const [ours] = (await once(server, 'connection')) as [Socket];
  ours.on('error', () => {});
  socket.on('error', () => {});
  const { log, lines } = recordedLog();
  const gate = openGate(log, OUTPUT_LIMITS);
  openBridge(ours, { gate, progressed, idleMs })({ DB: null, CORE: null, CONFIG: {}, LOG: log, ...handed });
  const session = connect('http://svc', { createConnection: () => socket });
  session.on('error', () => {});
  try {
    await use(session, socket, lines);
  } finally {
    gate.close();
    session.destroy();
    ours.destroy();
    server.close();
  }
}

async function post(session: ClientHttp2Session, path: string, body = ''): Promise<{ status: number; text: string }> {
  const stream = session.request({ ':method': 'POST', ':path': path });
  stream.on('error', () => {});
  stream.end(body);
  let status = 0;
  let text = '';
  stream.once('response', (headers) => {
    status = Number(headers[':status']);
  });
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  await once(stream, 'close');
  return { status, text };
}

test('progress is believed if it is three whole numbers, and nothing else of it is kept', async () => {
  const reports: Progress[] = [];
  const say = (session: ClientHttp2Session, words: string) =>
    new Promise<number>((resolve) => {
      const stream = session.request({ ':method': 'POST', ':path': '/progress', 'svc-progress': words });
      stream.once('response', (headers) => resolve(Number(headers[':status'])));
      stream.resume().end();
    });
  const use = async (session: ClientHttp2Session) => {
    for (const words of [
      ...['', 'null', '[]', '{', '{"done":1,"pending":2}', '{"done":1,"pending":2,"failed":-1}'],
      ...[
        '{"done":1.5,"pending":2,"failed":0}',
        '{"done":"1","pending":2,"failed":0}',
        '{"done":1e300,"pending":2,"failed":0}',
      ],
    ])
      assert.is(await say(session, words), 400, words);
    assert.is(await say(session, '{"done":1,"pending":2,"failed":3,"prompt":"secret"}'), 204);
  };
  await bridged({}, use, { progressed: (items) => reports.push(items) });
  assert.equal(reports, [{ done: 1, pending: 2, failed: 3 }]);
});

/** As the runner says it, or anyone who has its channel. */
const asking = (sql: string, parameters: (string | null)[] = []) =>
  `${JSON.stringify({ lengths: [sql, ...parameters].map((text) => text?.length ?? null), options: {} })}\n${sql}${parameters.join('')}`;
const statement = asking('select 1');

test('a binding that was not handed is refused, whoever asks and however', async () => {
  await bridged({}, async (session) => {
    for (const path of ['/query', '/stream', '/core/v1/sessions', '/nothing', '/']) {
      const { status, text } = await post(session, path, statement);
      assert.is(status, 500, path);
      assert.is(JSON.parse(text).message, 'Cannot use a binding that was not granted');
    }
  });
});

test('what is no statement, or longer than 8 MiB, never reaches the database', async () => {
  const queries: unknown[] = [];
  const DB = withRowTexts({
    async query(sql: string, parameters: readonly unknown[] = []) {
      queries.push([sql, ...parameters]);
      return { rows: [], row_count: 0 };
    },
    async *stream() {},
  });
  await bridged({ DB }, async (session) => {
    const heads = [
      '',
      'null',
      '[]',
      '{"lengths":[1],"options":null}',
      '{"lengths":"all","options":{}}',
      '{"options":{}}',
    ];
    const lengths = ['', '"1"', '-1', '1.5', '1e300', 'null', 'null,1', '2', '0,0', '1,1'];
    const bodies = [...heads, ...lengths.map((list) => `{"lengths":[${list}],"options":{}}`)].map(
      (head) => `${head}\nx`,
    );
    for (const body of [...bodies, '', '{"lengths":[1],"options":{}}'])
      assert.is((await post(session, '/query', body)).status, 500, body);
    assert.match((await post(session, '/query', asking('x'.repeat(9_000_000)))).text, 'it is longer than 8388608');
    const many = asking(
      'x',
      Array.from({ length: 150_000 }, () => ''),
    );
    assert.match((await post(session, '/query', many)).text, 'too many parameters');
    assert.equal(queries, []);
    assert.is((await post(session, '/query', asking('select', ['é', null, '', '漢🎉\n']))).status, 200);
    assert.equal(queries, [['select', 'é', null, '', '漢🎉\n']]);
  });
});

/** Asks, and reads nothing of what comes. */
function unread(session: ClientHttp2Session, path: string, body: string) {
  const stream = session.request({ ':method': 'POST', ':path': path });
  stream.on('error', () => {});
  stream.end(body);
  stream.pause();
  return stream;
}

/** Settles when it has ended: a stream that nobody reads is given up within seconds. */
const closed = (stream: ClientHttp2Stream) =>
  within(
    30_000,
    'an exchange was not ended',
    new Promise<void>((resolve) => (stream.destroyed ? resolve() : stream.once('close', resolve))),
  );

const MIB = 1024 * 1024;

test('an unread answer keeps its place until it is given up, and no more than eight are in memory', async () => {
  let queries = 0;
  const pad = `a${'🎉'.repeat(MIB / 2)}`; // halves of characters fall between the pieces
  const text = JSON.stringify({ pad });
  const DB: HandedDb = {
    ...withRowTexts({ query: async () => ({ rows: [], row_count: 0 }), async *stream() {} }),
    async queryTexts() {
      queries += 1;
      return { texts: [text], changed: null };
    },
  };
  const use = async (session: ClientHttp2Session) => {
    const streams = Array.from({ length: 20 }, () => unread(session, '/query', statement));
    await eventually(() => queries === 8);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(queries, 8, 'the others wait');
    await Promise.all(streams.map((stream) => closed(stream)));
    assert.is(queries, 20);
    const { text: whole } = await post(session, '/query', statement);
    assert.ok(JSON.parse(whole).rows[0].pad === pad);
  };
  await bridged({ DB }, use, { idleMs: 2_000 });
});

test('unread answers of more than 64 MB keep the next statement from beginning', async () => {
  let queries = 0;
  const large = 'x'.repeat(40 * MIB);
  const DB: HandedDb = {
    ...withRowTexts({ query: async () => ({ rows: [], row_count: 0 }), async *stream() {} }),
    async queryTexts() {
      queries += 1;
      return { texts: [`"${large}"`], changed: null };
    },
  };
  const use = async (session: ClientHttp2Session) => {
    for (const began of [1, 2]) {
      unread(session, '/query', statement);
      await eventually(() => queries === began);
    }
    const third = unread(session, '/query', statement);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(queries, 2);
    third.resume();
    await closed(third);
    assert.is(queries, 3);
  };
  await bridged({ DB }, use, { idleMs: 2_000 });
});

test('a stream that nobody reads is ended, and one that is read slowly is not', async () => {
  let ended = 0;
  const DB: HandedDb = {
    ...withRowTexts({ query: async () => ({ rows: [], row_count: 0 }), async *stream() {} }),
    async *streamTexts() {
      try {
        for (let i = 0; i < 40; i += 1) yield [`"${'x'.repeat(64 * 1024)}"`];
      } finally {
        ended += 1;
      }
    },
  };
  const use = async (session: ClientHttp2Session) => {
    const left = unread(session, '/stream', statement);
    await closed(left);
    assert.is(ended, 1);
    const slow = unread(session, '/stream', statement);
    let text = '';
    slow.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      slow.pause();
      setTimeout(() => slow.resume(), 10);
    });
    slow.resume();
    await closed(slow);
    assert.is(text.length, 40 * ('r65538\n'.length + 64 * 1024 + 2) + '.0\n'.length);
    assert.is(ended, 2);
  };
  await bridged({ DB }, use, { idleMs: 2_000 });
});

test('unread answers of the read API are given up too, and so many are asked for at once', async () => {
  let requests = 0;
  const CORE = {
    async fetch() {
      requests += 1;
      return new Response('x'.repeat(MIB));
    },
  };
  const use = async (session: ClientHttp2Session) => {
    const streams = Array.from({ length: 40 }, () => unread(session, '/core/v1/sessions', ''));
    await eventually(() => requests === 32);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(requests, 32);
    await Promise.all(streams.map((stream) => closed(stream)));
    assert.is(requests, 40);
  };
  await bridged({ CORE }, use, { idleMs: 2_000 });
});

test('the read API is only asked by a path of its own', async () => {
  const seen: string[] = [];
  const CORE = {
    async fetch(input: string | Request) {
      seen.push(new URL((input as Request).url).href);
      return new Response('');
    },
  };
  await bridged({ CORE }, async (session) => {
    await post(session, '/core//elsewhere.example/v1');
    await post(session, '/core/../v1/sessions');
    assert.ok(seen.length > 0);
    assert.ok(
      seen.every((url) => url.startsWith('http://core/')),
      seen.join(),
    );
  });
});

test('lines of a log that are none leave no trace but a note', async () => {
  await bridged({}, async (session, _socket, lines) => {
    await post(
      session,
      '/log',
      '{"level":"fatal","fields":null,"message":"one"}\nnot json\n{"level":"warn","fields":{"a":1},"message":2}\n',
    );
    await eventually(() => lines.length === 3);
    assert.equal(lines, [
      { level: 'info', fields: {}, message: 'one' },
      { level: 'warn', fields: {}, message: 'it wrote a line to its log that cannot be read' },
      { level: 'warn', fields: { a: 1 }, message: '2' },
    ]);
  });
});

test('garbage on the channel closes it and nothing else', async () => {
  await bridged({}, async (session, socket) => {
    socket.write('garbage that is no frame of any protocol, and long enough to be looked at');
    const over = new Promise((resolve) => session.once('close', resolve));
    await within(10_000, 'the channel was not closed', over);
  });
});

test.run();
