/** What if an upstream answers with a status that is none, or a head that Node will not write? A number passes, the rest is a clean 502. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withRawServer } from '../support/raw-server.ts';
import { answerTo, closeStands, openStand, readAnswer } from './stand.ts';

const test = suite('proxy: odd statuses');
test.after.each(closeStands);

const CALL = 'POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}';
const UPGRADE =
  'GET /openai/v1/responses HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n';

const EXPECTED: [head: string, status: RegExp][] = [
  ['999 X', /^HTTP\/1\.1 999 X$/],
  ['600 X', /^HTTP\/1\.1 600 X$/],
  ['000 X', /^HTTP\/1\.1 502 /],
  ['099 X', /^HTTP\/1\.1 502 /],
  ['200 a\x01b', /^HTTP\/1\.1 502 /],
  ['200 X\r\na: \x01b', /^HTTP\/1\.1 502 /],
];
for (const [what, request] of [
  ['a call', CALL],
  ['an upgrade', UPGRADE],
] as const)
  test(`an upstream's status 999, 600, 000 or 099 to ${what} passes or is a 502, and the proxy goes on`, async () => {
    for (const [head, status] of EXPECTED)
      await withRawServer(`HTTP/1.1 ${head}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok`, async (port) => {
        const stand = await openStand([], { upstreamUrl: `http://127.0.0.1:${port}` });
        const answer = readAnswer(await answerTo(stand.port, request));
        assert.match(answer.status, status, JSON.stringify(head));
        if (answer.status.startsWith('HTTP/1.1 502'))
          assert.is(JSON.parse(answer.body.toString()).error.type, what === 'a call' ? 'api_error' : 'upstream_error');
        await stand.close();
      });
  });

test('an upstream that switches protocols without being asked to is a 502', async () => {
  await withRawServer('HTTP/1.1 101 Sure\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', async (port) => {
    const stand = await openStand([], { upstreamUrl: `http://127.0.0.1:${port}` });
    const answer = readAnswer(await answerTo(stand.port, CALL));
    assert.is(answer.status, 'HTTP/1.1 502 Bad Gateway');
    assert.match(
      JSON.parse(answer.body.toString()).error.message,
      /: it switched to another protocol \(UNREQUESTED_UPGRADE\)$/,
    );
    assert.equal(await stand.outcomes(1), ['anthropic partial']);
    assert.is(stand.kept[0]?.closed?.ending, 'upstream_error');
  });
});

test.run();
