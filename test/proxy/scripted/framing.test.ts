import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import {
  answerHead,
  answers,
  askHead,
  asks,
  byteByByte,
  chunk,
  client,
  gets,
  lastChunk,
  type Script,
  streams,
  upstream,
  upstreamLeaves,
} from './script.ts';

const test = suite('scripted upstreams: how bodies are framed');
test.after.each(closeStands);

const JSON_TYPE = 'Content-Type: application/json';
const chunkedAsk = askHead('/v1/messages', [JSON_TYPE, 'Transfer-Encoding: chunked']);
const chunkedAnswer = answerHead('200 OK', [JSON_TYPE, 'Transfer-Encoding: chunked']);
const awaitsContinue = askHead('/v1/messages', ['Expect: 100-continue', 'Content-Length: 13']);

const TURNS: Record<string, Script> = {
  'an answer in one piece': [asks(), answers('200 OK', [JSON_TYPE], '{"a":1}')],
  'an answer whose body comes in pieces': [
    asks(),
    upstream(answerHead('200 OK', [JSON_TYPE, 'Content-Length: 9'])),
    upstream('{"a'),
    upstream('":1'),
    upstream('23}'),
  ],
  'an answer with an empty body': [asks(), answers('200 OK', [JSON_TYPE])],
  'an answer in chunks': [asks(), ...streams([JSON_TYPE], '{"a":', '1', '}')],
  'an answer in no chunk': [asks(), ...streams([JSON_TYPE])],
  'chunks that are torn anywhere': [
    asks(),
    upstream(`${chunkedAnswer}7\r`),
    upstream('\n{"a'),
    upstream('":1\r\n'),
    upstream('1\r\n}\r'),
    upstream('\n0\r\n'),
    upstream('\r\n'),
  ],
  'chunks that carry extensions, and sizes with zeros before them': [
    asks(),
    upstream(chunkedAnswer, chunk('{"a":', ';name=value'), '0002;x="y"\r\n1}\r\n', lastChunk()),
  ],
  'trailers behind an answer': [
    asks(),
    upstream(answerHead('200 OK', [JSON_TYPE, 'Trailer: X-Sum, Server-Timing', 'Transfer-Encoding: chunked'])),
    upstream(chunk('{}')),
    upstream(lastChunk(['X-Sum: 42', 'Server-Timing: a;dur=1', 'server-timing: b;dur=2'])),
  ],
  'an answer that ends with its connection': [
    asks(),
    upstream(answerHead('200 OK', [JSON_TYPE, 'Connection: close'])),
    upstream('{"a":'),
    upstream('1}'),
    upstreamLeaves(),
  ],
  'an answer of HTTP/1.0': [
    asks(),
    upstream(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n`),
    upstream('{"a":1}'),
    upstreamLeaves(),
  ],
  'an answer one byte at a time, head and all': [
    asks(),
    ...byteByByte('upstream', chunkedAnswer, chunk('{"a":1}'), lastChunk()),
  ],
  'a request in chunks': [
    client(chunkedAsk),
    client(chunk('{"model"')),
    client(chunk(':"m"}')),
    client(lastChunk()),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  'a request in chunks with trailers': [
    client(chunkedAsk, chunk('{}')),
    client(lastChunk(['X-Check: 7', 'x-check: 8'])),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  'a request one byte at a time, head and all': [
    ...byteByByte('client', chunkedAsk, chunk('{"model":'), chunk('"m"}'), lastChunk()),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  'a request that waits for 100 Continue and gets it': [
    client(awaitsContinue),
    upstream('HTTP/1.1 100 Continue\r\n\r\n'),
    client('{"model":"m"}'),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  'a request that waits for 100 Continue and sends without it': [
    client(awaitsContinue),
    client('{"model":"m"}'),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  '100 Continue that nobody waited for': [
    asks(),
    upstream('HTTP/1.1 100 Continue\r\n\r\n'),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  '102 and 103 before the answer, each when it comes': [
    asks(),
    upstream('HTTP/1.1 102 Processing\r\n\r\n'),
    upstream('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nlink: </b>\r\n\r\n'),
    upstream('HTTP/1.1 103 Early Hints\r\nLink: </c>\r\n\r\n'),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
  '1xx answers of a status that nobody knows': [
    asks(),
    upstream('HTTP/1.1 199 Nearly there\r\nx-progress: 0.5\r\n\r\n'),
    answers('200 OK', [JSON_TYPE], '{}'),
  ],
};

for (const [what, script] of Object.entries(TURNS)) {
  test(`${what} passes frame by frame, and is kept`, async () => keptWhatPassed(await passesUnchanged(script)));
}

const OTHERS: Record<string, Script> = {
  'HEAD with a length': [
    gets('/v1/models', [], 'HEAD'),
    upstream(answerHead('200 OK', ['Content-Length: 4711', 'ETag: "x"'])),
  ],
  'HEAD of an answer in chunks': [
    gets('/', [], 'HEAD'),
    upstream(answerHead('200 OK', ['Transfer-Encoding: chunked'])),
  ],
  'HEAD without a word of a body': [gets('/', [], 'HEAD'), upstream(answerHead('404 Not Found', ['X-Why: gone']))],
  '204 without a body': [gets('/v1/files/1', [], 'DELETE'), upstream(answerHead('204 No Content', ['X-Ok: 1']))],
  '304 with the length of what it does not send': [
    gets('/v1/models', ['If-None-Match: "x"']),
    upstream(answerHead('304 Not Modified', ['ETag: "x"', 'Content-Length: 4711'])),
  ],
  '304 without a length': [gets(), upstream(answerHead('304 Not Modified', ['ETag: "x"']))],
  'GET with a body': [
    client(askHead('/v1/search', ['Content-Length: 2'], 'GET'), '{}'),
    answers('200 OK', [JSON_TYPE], '[]'),
  ],
  'methods that are rare': [
    gets('/v1/x', [], 'OPTIONS'),
    answers('200 OK', ['Allow: GET']),
    client(askHead('/v1/x', ['Content-Length: 2'], 'PATCH'), '{}'),
    answers('200 OK', [], 'ok'),
    gets('/v1/x', [], 'PROPFIND'),
    answers('405 Method Not Allowed', []),
  ],
  'answers after each other on one connection': [
    gets('/v1/models?1'),
    answers('200 OK', [], 'one'),
    gets('/', [], 'HEAD'),
    upstream(answerHead('200 OK', ['Content-Length: 99'])),
    gets('/v1/models?2'),
    ...streams([], 't', 'wo'),
    gets('/v1/models?3'),
    upstream(answerHead('204 No Content')),
    client(askHead('/v1/files', ['Content-Length: 5']), 'three'),
    answers('200 OK', [], 'three'),
  ],
};

for (const [what, script] of Object.entries(OTHERS)) {
  test(`${what} passes as it came, and is no turn`, async () => {
    const { calls } = await passesUnchanged(script);
    assert.is(calls.length, 0);
  });
}

test('turns after each other on one connection are kept one by one', async () => {
  const script = [1, 2, 3].flatMap((n) => [asks(`{"n":${n}}`), answers('200 OK', [JSON_TYPE], `{"is":${n}}`)]);
  const { calls } = await passesUnchanged(script);
  const texts = calls.map(({ request, response }) => `${Buffer.from(request)} ${Buffer.from(response)}`);
  assert.equal(texts, ['{"n":1} {"is":1}', '{"n":2} {"is":2}', '{"n":3} {"is":3}']);
});

test.run();
