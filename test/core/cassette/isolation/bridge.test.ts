import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { createServer, connect as dial, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Progress } from '../../../../core/cassette/contract.ts';
import { openBridge } from '../../../../core/cassette/isolation/bridge.ts';
import { OUTPUT_LIMITS, openGate } from '../../../../core/cassette/isolation/output.ts';
import type { Handed } from '../../../../core/cassette/running.ts';
import { eventually } from '../../../support/eventually.ts';
import { type LoggedLine, recordedLog } from '../../../support/started-cassette.ts';

const test = suite('bridge');

/** What a process could say that does not speak through our runner. */
async function bridged(
  handed: Partial<Handed>,
  use: (session: ClientHttp2Session, socket: Socket, lines: LoggedLine[]) => Promise<void>,
  progressed: (told: Progress) => void = () => {},
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
  openBridge(ours, { gate, progressed })({ DB: null, CORE: null, CONFIG: {}, LOG: log, ...handed });
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

async function asked(session: ClientHttp2Session, path: string, body = ''): Promise<{ status: number; text: string }> {
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
  const told: Progress[] = [];
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
  await bridged({}, use, (items) => told.push(items));
  assert.equal(told, [{ done: 1, pending: 2, failed: 3 }]);
});

const statement = JSON.stringify({ sql: 'select 1', parameters: [], options: {} });

test('a binding that was not handed is refused, whoever asks and however', async () => {
  await bridged({}, async (session) => {
    for (const path of ['/query', '/stream', '/core/v1/sessions', '/nothing', '/']) {
      const { status, text } = await asked(session, path, statement);
      assert.is(status, 500, path);
      assert.is(JSON.parse(text).message, 'Cannot use a binding that was not granted');
    }
  });
});

test('what is no statement, or longer than 8 MiB, never reaches the database', async () => {
  let queries = 0;
  const DB = {
    async query() {
      queries += 1;
      return { rows: [], row_count: 0 };
    },
    async *stream() {},
  };
  await bridged({ DB }, async (session) => {
    for (const body of ['', 'null', '[]', '{"sql":1,"parameters":[]}', '{"sql":"select 1","parameters":"all"}']) {
      assert.is((await asked(session, '/query', body)).status, 500, body);
    }
    const long = JSON.stringify({ sql: 'x'.repeat(9_000_000), parameters: [] });
    assert.match((await asked(session, '/query', long)).text, 'it is longer than 8388608 bytes');
    assert.is(queries, 0);
    assert.is((await asked(session, '/query', statement)).status, 200);
  });
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
    await asked(session, '/core//elsewhere.example/v1');
    await asked(session, '/core/../v1/sessions');
    assert.ok(seen.length > 0);
    assert.ok(
      seen.every((url) => url.startsWith('http://core/')),
      seen.join(),
    );
  });
});

test('lines of a log that are none leave no trace but a note', async () => {
  await bridged({}, async (session, _socket, lines) => {
    await asked(
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
    await new Promise((resolve) => session.once('close', resolve));
  });
});

test.run();
