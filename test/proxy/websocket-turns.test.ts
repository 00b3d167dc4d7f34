import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { socketTurns } from '../../proxy/websocket-turns.ts';

const test = suite('socketTurns');

type Seen = {
  at: string;
  bytes: number;
  requestText: string;
  answered: [number, string[]] | null;
  replied: string[];
  ending: string;
};

/** The turns of a socket, as far as they have come. */
function watching(headers: string[] = []) {
  const seen: Seen[] = [];
  const turns = socketTurns(headers, (at, bytes) => {
    const turn: Seen = { at, bytes, requestText: '', answered: null, replied: [], ending: '' };
    seen.push(turn);
    return {
      requestBytes: (more) => {
        turn.requestText += more;
      },
      responseHead: (status, raw) => {
        turn.answered = [status, [...raw]];
      },
      responseBytes: (line) => turn.replied.push(String(line)),
      ended: (ending) => {
        if (turn.ending !== '') throw new Error('Cannot end a turn twice');
        turn.ending = ending;
      },
    };
  });
  const say = (side: 'client' | 'server', message: object, at = 't') =>
    turns.message(side, Buffer.from(JSON.stringify(message)), at);
  return { seen, turns, say };
}

const create = { type: 'response.create', input: 'x' };
const created = { type: 'response.created', response: {}, sequence_number: 0 };
const completed = { type: 'response.completed', response: {}, sequence_number: 1 };

test('an answer has the upgrade’s headers, and its own content type', () => {
  const { seen, say } = watching([
    'Upgrade',
    'websocket',
    'content-type',
    'text/plain',
    'Content-Encoding',
    'gzip',
    'X-A',
    'b',
  ]);
  say('client', create, 't1');
  say('server', created);
  assert.equal(seen[0]?.answered, [200, ['Upgrade', 'websocket', 'X-A', 'b', 'Content-Type', 'application/x-ndjson']]);
  assert.is(seen[0]?.at, 't1');
});

test('what is said of limits before an answer does not begin it', () => {
  const { seen, say } = watching();
  say('client', create);
  say('server', { type: 'codex.rate_limits' });
  assert.is(seen[0]?.answered, null);
  say('server', { type: 'error', status: 429, error: { message: 'usage limit' } });
  assert.is(seen[0]?.answered?.[0], 429);
  assert.equal([seen[0]?.replied.length, seen[0]?.ending], [2, 'complete']);
});

test('a response whose end never came ends with the next one of its lane', () => {
  const { seen, say } = watching();
  for (const message of [create, create]) say('client', message);
  for (const event of [created, created, completed]) say('server', event);
  assert.equal(
    seen.map(({ replied, ending }) => [replied.length, ending]),
    [
      [1, 'complete'],
      [2, 'complete'],
    ],
  );
});

test('an upstream that does not repeat the lanes answers in the order of the requests', () => {
  const { seen, say } = watching();
  for (const stream_id of ['a', 'b']) say('client', { ...create, stream_id });
  for (const event of [created, completed, created]) say('server', event);
  assert.equal(
    seen.map(({ replied, ending }) => [replied.length, ending]),
    [
      [2, 'complete'],
      [1, ''],
    ],
  );
});

test('of requests that nobody answers the oldest are given up', () => {
  const { seen, turns, say } = watching();
  for (let i = 0; i < 300; i++) say('client', create);
  assert.equal(
    seen.map(({ ending }) => ending),
    [...Array(44).fill('overflow'), ...Array(256).fill('')],
  );
  turns.end('client_closed');
  assert.is(seen.filter(({ ending }) => ending === 'client_closed').length, 256);
});

test('a response that nobody asked for is a turn without a request, and its events alone are none', () => {
  const { seen, say } = watching();
  say('server', { type: 'response.output_text.delta', delta: 'x', sequence_number: 4 });
  assert.equal(seen, []);
  say('server', created, 't2');
  assert.equal([seen[0]?.requestText, seen[0]?.bytes, seen[0]?.at], ['', 0, 't2']);
});

test.run();
