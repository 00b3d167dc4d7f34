/** The envelope's rules, each by the case of the shared corpus that pins it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Envelope, envelopeOf } from '../../../core/capture/envelope.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { fixtureCases, fixtureFolder } from '../../support/fixtures.ts';

type Case = {
  headers: Record<string, string>;
  envelope: Record<string, unknown>;
  error?: { disposition: string; field: string };
};

/** The corpus' names are ours but for the prefix. */
const ours = (headers: Record<string, string>): HeaderList =>
  Object.entries(headers).map(([name, value]) => [
    name.replace(/^x-tapes-/, 'x-svc-').replace(/^x-paper-auth-/, 'x-svc-auth-'),
    value,
  ]);

const nothing: Envelope = {
  harness_id: 'unknown',
  harness_session_id: '',
  harness_version: '',
  cwd: '',
  session_name: '',
  parent_harness_session_id: null,
  harness_metadata: null,
  agent_name: '',
  project: '',
  auth_subject: '',
};

const test = suite('envelope');

const folder = fixtureFolder('envelope');
if (folder) {
  const { cases, digest, expected } = fixtureCases<Case>(folder);
  test('the corpus is the one these expectations were written for', () => {
    assert.is(digest, expected);
    assert.is(cases.length, 23);
  });
  for (const [name, { headers, envelope, error }] of cases) {
    test(name, () => {
      const { org_id: _org, name: session_name = '', ...fields } = envelope;
      const read: Record<string, unknown> = { ...nothing, ...fields, session_name };
      // Their ingest refuses such an envelope; a proxy refuses nothing, so the field is dropped.
      if (error?.field === 'harness_metadata') read.harness_metadata = null;
      assert.equal(envelopeOf(ours(headers)), read);
    });
  }
}

test('names are compared without case, and the first of a repeated header counts', () => {
  const headers: HeaderList = [
    ['X-Svc-Harness-Id', ' mine '],
    ['x-svc-harness-id', 'theirs'],
    ['X-SVC-PROJECT', 'a%20b'],
    ['x-svc-agent-name', 'helper'],
  ];
  assert.equal(envelopeOf(headers), { ...nothing, harness_id: 'mine', project: 'a b', agent_name: 'helper' });
});

test('malformed escapes do not smuggle a control character in', () => {
  assert.is(envelopeOf([['x-svc-cwd', '/a%zz\u0001']]).cwd, '');
  assert.is(envelopeOf([['x-svc-cwd', '%ff']]).cwd, '%ff');
});

test('metadata that is no object, or nested without end, is dropped', () => {
  for (const value of ['null', '1', '"a"', '[]', '{', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`]) {
    const header = Buffer.from(value).toString('base64url');
    assert.is(envelopeOf([['x-svc-harness-metadata', header]]).harness_metadata, null);
  }
});

test.run();
