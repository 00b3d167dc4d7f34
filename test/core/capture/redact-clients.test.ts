/** What real clients and providers send is kept, but for what is a credential; who called reads the same from what is kept. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { identityOf } from '../../../core/call/identity.ts';
import { redactHeaders, redactTarget } from '../../../core/capture/redact.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { REDACTED } from '../../../core/redaction/shapes.ts';
import { fixtureFolder } from '../../support/fixtures.ts';

const test = suite('redacted headers of real clients');

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'];

type Recorded = { url: string; headers: Record<string, string>; body: unknown };

const recordings = fixtureFolder('recordings');
const folder = fixtureFolder('clients');

async function clients(folder: string): Promise<[file: string, call: Recorded][]> {
  return Promise.all(
    (await readdir(folder)).map(async (file) => [file, JSON.parse(await readFile(join(folder, file), 'utf8'))]),
  );
}

const eachClient = folder === null ? null : await clients(folder);

if (eachClient) {
  test('of requests only the keys are replaced, and their addresses stay', async () => {
    const seen = new Set<string>();
    for (const [file, { headers, url }] of eachClient) {
      for (const [name, kept] of redactHeaders(Object.entries(headers).flat())) {
        seen.add(name);
        assert.is(kept, CREDENTIALS.includes(name) ? REDACTED : headers[name], `${name} of ${file}`);
      }
      assert.is(redactTarget(url), url, file);
    }
    for (const name of [
      ...CREDENTIALS,
      'x-claude-code-session-id',
      'x-codex-turn-metadata',
      'session-id',
      'x-session-id',
    ])
      assert.ok(seen.has(name), name);
  });

  test('who called is read from the kept headers as from the sent ones', async () => {
    let named = 0;
    for (const [file, { headers, body }] of eachClient) {
      const sent = Object.entries(headers);
      const skeleton = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : null;
      const from = (list: HeaderList) => identityOf({ headers: list, project: '' }, skeleton);
      assert.equal(from(redactHeaders(sent.flat())), from(sent), file);
      if (from(sent).harness_session_id !== '') named++;
    }
    assert.ok(named > 5, 'calls that name their session');
  });
}

if (recordings)
  test('of answers nothing is replaced', async () => {
    for (const turn of await readdir(recordings)) {
      const { response_headers } = JSON.parse(await readFile(join(recordings, turn, 'meta.json'), 'utf8')) as {
        response_headers: HeaderList;
      };
      assert.ok(response_headers.length > 0);
      assert.equal([...redactHeaders(response_headers.flat())], response_headers, turn);
    }
  });

test('an envelope is read as it was sent', () => {
  const encoded = Buffer.from(JSON.stringify({ team: 'x', tokens: 3, nested: { a: [1, 'b'] } })).toString('base64url');
  const sent: HeaderList = [
    ['x-svc-harness-id', 'claude'],
    ['x-svc-harness-session-id', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b'],
    ['x-svc-harness-version', '2.1.197'],
    ['x-svc-cwd', '/home/dana/my%20auth-key/a%2Bb'],
    ['x-svc-session-name', 'the%20token%3A%20where%20is%20it'],
    ['x-svc-harness-metadata', encoded],
    ['x-svc-agent-name', 'Q7mZ2xLk9RtVb4NcYp8W'],
    ['x-svc-auth-subject', 'dana@example.org'],
  ];
  assert.equal([...redactHeaders(sent.flat())], sent);
});

test('what is named for a credential is none of the envelope', () => {
  const sent: HeaderList = [
    ['x-svc-api-key', 'hunter2'],
    ['X-Svc-Capture-Token', 'hunter2'],
    ['x-svc-auth-org-id', '01a1fc51aa'],
  ];
  assert.equal(
    redactHeaders(sent.flat()).map(([, value]) => value),
    [REDACTED, REDACTED, '01a1fc51aa'],
  );
});

test.run();
