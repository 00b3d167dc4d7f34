import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refreshed } from '../../../../core/cassette/admission/refresh.ts';
import { ListEntry } from '../../../../core/cassette/list/list.ts';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { openapiOf } from '../../../support/cassette-folder.ts';
import { cassetteManifest, runningCassette } from '../../../support/running-cassette.ts';

const test = suite('refresh');

const SOURCE = 'http://far.example/openapi';
const textOf = (name: string, more: object = {}, version = '1.0.0') =>
  JSON.stringify({ ...openapiOf(name, cassetteManifest(name, more)), info: { title: name, version } });
const WAS = textOf('far');

/** What the look gives at a source that was admitted with one document, and has this one now. */
async function looked(now: string, { pinned = false, local = false } = {}) {
  const document = await readDocument(WAS, { name: 'near', isolation: 'remote' });
  const digest = pinned ? { digest: document.openapi_digest } : {};
  const entry = ListEntry.parse({ name: 'near', source: SOURCE, isolation: 'remote', ...digest });
  const { running, manifest } = runningCassette('far', async () => new Response(now));
  const admitted = {
    running: { ...running, loaded: local ? running.loaded : null },
    ...{ manifest, document, source_digest: null },
  };
  return refreshed(entry, admitted);
}
const refusedAt = async (work: Promise<unknown>) => {
  const error = await work.catch((thrown: unknown) => thrown);
  assert.instance(error, Rejection);
  const { step, message, problems } = error as Rejection;
  return [step, [message, ...problems].join('\n')];
};

test('the same document is no news, and neither is anything of a module that was started', async () => {
  assert.is(await looked(WAS), null);
  assert.is(await looked('no document at all', { local: true }), null);
});

test('another document takes the place of the one before', async () => {
  assert.equal((await looked(textOf('far', {}, '2.0.0')))?.document.info, { title: 'far', version: '2.0.0' });
});

test('another document than the one that was pinned is not taken', async () => {
  assert.is(await looked(WAS, { pinned: true }), null);
  assert.equal(await refusedAt(looked(textOf('far', {}, '2.0.0'), { pinned: true })), [
    'digest',
    'Cannot take its new document: it is not what was pinned',
  ]);
});

test('a document of another cassette is not taken, and none that asks for what was not granted', async () => {
  assert.equal(await refusedAt(looked(textOf('other'))), [
    'name',
    'Cannot take its new document: the cassette in it has another name',
  ]);
  const [step, reason] = await refusedAt(looked(textOf('far', { bindings: { forward_auth: true } })));
  assert.is(step, 'grants');
  assert.match(reason ?? '', 'forward_auth');
});

test('a document that cannot be read is not taken', async () => {
  assert.equal((await refusedAt(looked('<html>')))[0], 'openapi');
});

test.run();
