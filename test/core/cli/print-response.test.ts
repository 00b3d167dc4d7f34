/** Can recorded text drive the terminal of who reads it? Before a read API of the test that answers with such text, over a real socket. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { svc } from '../../support/cli-program.ts';

const test = suite('what is printed of a response');

const ID = '16dd8bce-b2a0-59a6-9baa-d811643b8fe4';
/** C1 controls that set the title and colours, one that deletes, one that turns the text around, a line separator, a tag beyond 16 bits. */
const HOSTILE = 'Moor \u009b31m\u009d0;title\u009c \u007f \u202eright\u2066 \u2028 \u{e0041} at night';
const document = { items: [], text: HOSTILE, traces: [{ text: HOSTILE }] };
const JSON_TEXT = JSON.stringify(document);
const LINES = `${JSON_TEXT}\n${JSON_TEXT}\n`;
/** Two line breaks of it are in two chunks each. */
const TEXT = ['\u001b]0;title\u0007one\r', '\ntwo\r', 'three\tfour \u009b31m'];

const operation = (operationId: string) => ({ get: { operationId, responses: { 200: { description: 'Some' } } } });
const openapi = {
  openapi: '3.1.0',
  info: { title: 'Tally', version: '1.0.0' },
  paths: Object.fromEntries(['json', 'lines', 'text'].map((name) => [`/v1/cassettes/tally/${name}`, operation(name)])),
};

const bodyOf = (url: string): [type: string, chunks: readonly string[]] => {
  if (url === '/ping') return ['application/json', ['"pong"']];
  if (url.endsWith('openapi.json')) return ['application/json', [JSON.stringify(openapi)]];
  if (url.endsWith('/text')) return ['text/plain', TEXT];
  return /lines|export/.test(url) ? ['application/x-ndjson', [LINES]] : ['application/json', [JSON_TEXT]];
};

let server: Server;
test.before(async () => {
  server = createServer(async ({ url = '' }, response) => {
    const [type, chunks] = bodyOf(url);
    response.setHeader('content-type', type);
    for (const chunk of chunks) {
      response.write(chunk);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    response.end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
test.after(() => void server.close());

const printed = async (args: readonly string[], isTerminal: boolean): Promise<string> => {
  const env = { SVC_CLIENT_API_TARGET: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const { status, out, err } = await svc(args, { cwd: tmpdir(), env, isTerminal });
  assert.is(status, 0, err);
  return out;
};

/** Whatever a terminal may obey, but line breaks. */
const DRIVES = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

test('on a terminal JSON is the same document, with escapes for all that drives it', async () => {
  for (const args of [
    ['sessions', 'show', ID, '--json'],
    ['coverage', '--json'],
    ['cassette', 'run', 'tally', 'json'],
    ['cassette', 'run', 'tally', 'lines'],
    ['export', ID],
  ]) {
    const [shown, piped] = [await printed(args, true), await printed(args, false)];
    assert.not.match(shown, DRIVES, args.join(' '));
    assert.match(
      shown,
      'Moor \\u009b31m\\u009d0;title\\u009c \\u007f \\u202eright\\u2066 \\u2028 \\udb40\\udc41 at night',
    );
    const isLines = piped.trimEnd().split('\n}').length === 1;
    for (const text of [shown, piped])
      for (const line of isLines ? text.trimEnd().split('\n') : [text])
        assert.equal(JSON.parse(line), document, args.join(' '));
  }
});

test('to a pipe or a file the bytes are as they came', async () => {
  assert.is(await printed(['export', ID], false), LINES);
  assert.is(await printed(['sessions', 'show', ID, '--json'], false), `${JSON_TEXT}\n`);
  assert.is(await printed(['cassette', 'run', 'tally', 'text'], false), `${TEXT.join('')}\n`);
});

test('other text is printed on a terminal line by line, without what drives it', async () => {
  assert.is(
    await printed(['cassette', 'run', 'tally', 'text'], true),
    '\u{fffd}]0;title\u{fffd}one\ntwo\nthree    four \u{fffd}31m\n',
  );
});

test.run();
