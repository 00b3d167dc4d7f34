import * as assert from 'uvu/assert';
import skills from '../../../cassettes/skills/cassette.ts';
import type { Db } from '../../../core/cassette/contract.ts';
import { cassettesOf, furnished } from '../../support/cassette-database.ts';
import { databaseSuite } from '../../support/databases.ts';
import type { Json } from '../../support/read-api.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';
const CONFIG = {
  ...{ 'llm.base_url': '', 'llm.model': '', 'llm.timeout': 1000, 'transcript.max_characters': 2000 },
};
const quiet = () => {};
const LOG = { debug: quiet, info: quiet, warn: quiet, error: quiet };

databaseSuite('skill versions', (test, database) => {
  let cassettes: ReturnType<typeof cassettesOf>;
  let db: Db;
  test.before(async () => {
    cassettes = cassettesOf(database());
    db = await furnished(cassettes, 'skills', { tables: skills.migrations.map(({ sql }) => sql).join('\n') });
  });
  test.after(() => cassettes.close());

  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, over = db) => {
    const request = new Request(`http://cassette/api/skills${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await skills.fetch(request, { DB: over, CONFIG, LOG });
    return { status: response.status, json: (await response.json()) as Json };
  };
  const created = async (body: object = {}): Promise<string> => (await ask('POST', '', body)).json.id;
  const numbers = async (id: string): Promise<number[]> =>
    (await ask('GET', `/${id}/versions`)).json.versions.map(({ versionNumber }: Json) => versionNumber);

  test('POST versions: 201, a snapshot under the next number, and the head moves in the same step', async () => {
    const id = await created({ name: 'One', description: 'd', content: 'first', tags: ['a'] });
    const one = await ask('POST', `/${id}/versions`, { changelog: 'begun' }, { 'x-svc-auth-subject': 'dana' });
    assert.is(one.status, 201);
    const { publishedAt, ...version } = one.json;
    assert.match(publishedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(version, {
      ...{ id: `${id}-v1`, skillId: id, versionNumber: 1, semver: '0.1.0', changelog: 'begun', authorId: 'dana' },
      ...{ name: 'One', description: 'd', type: 'workflow', tags: ['a'], content: 'first' },
    });
    const two = await ask('POST', `/${id}/versions`, { content: 'second' });
    assert.equal([two.json.versionNumber, two.json.semver, two.json.content], [2, '0.1.1', 'second']);
    const head = (await ask('GET', `/${id}`)).json;
    assert.equal([head.versionNumber, head.version, head.content], [2, '0.1.1', 'second']);
  });
  test('POST versions: the body may be left out', async () => {
    const id = await created({ content: 'text' });
    assert.is((await ask('POST', `/${id}/versions`)).json.content, 'text');
  });
  test('POST versions: 400 for a body that is invalid', async () => {
    const id = await created();
    assert.is((await ask('POST', `/${id}/versions`, { changelog: 1 })).status, 400);
    assert.equal(await numbers(id), []);
  });
  test('POST versions: 404', async () => {
    assert.is((await ask('POST', `/${NOBODY}/versions`)).status, 404);
  });
  test('GET versions: 200, the newest first, none of a skill that is not there', async () => {
    const id = await created();
    for (let i = 0; i < 3; i++) await ask('POST', `/${id}/versions`);
    const { status, json } = await ask('GET', `/${id}/versions`);
    assert.is(status, 200);
    assert.is(json.totalCount, 3);
    assert.equal(await numbers(id), [3, 2, 1]);
    assert.equal((await ask('GET', `/${NOBODY}/versions`)).json, { versions: [], totalCount: 0 });
    assert.is((await ask('GET', '/no-id/versions')).status, 200);
  });
  test('a history that is larger than a piece of an answer comes whole', async () => {
    const id = await created({ content: 'x'.repeat(50_000) });
    for (let i = 0; i < 5; i++) await ask('POST', `/${id}/versions`);
    const { json } = await ask('GET', `/${id}/versions`);
    assert.equal([json.totalCount, json.versions.length], [5, 5]);
  });
  test('what was published stays as it was, whatever becomes of the head', async () => {
    const id = await created({ name: 'One', content: 'first', tags: ['a'] });
    await ask('POST', `/${id}/versions`);
    const before = (await ask('GET', `/${id}/versions`)).json;
    await ask('PUT', `/${id}`, { name: 'Two', content: 'changed', tags: [], description: 'new' });
    assert.equal((await ask('GET', `/${id}/versions`)).json, before);
  });
  test('20 that publish at once get the numbers 1 to 20, and none of them an error', async () => {
    const id = await created();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        ask('POST', `/${id}/versions`, { content: `content ${i}`, changelog: `by ${i}` }),
      ),
    );
    assert.equal(
      answers.map(({ status }) => status),
      Array(20).fill(201),
    );
    const ordered = answers.map(({ json }) => json.versionNumber).sort((a, b) => a - b);
    assert.equal(
      ordered,
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    const { versions } = (await ask('GET', `/${id}/versions`)).json;
    assert.ok(versions.every(({ content, changelog }: Json) => content.slice(8) === changelog.slice(3)));
    const head = (await ask('GET', `/${id}`)).json;
    assert.equal([head.versionNumber, head.content], [20, versions[0].content], 'the head is the newest');
  });
  test('Idempotency-Key: asked again, the same version is answered and none is added', async () => {
    const id = await created({ content: 'text' });
    const again = () => ask('POST', `/${id}/versions`, { changelog: 'once' }, { 'idempotency-key': 'k1' });
    const first = await again();
    await ask('POST', `/${id}/versions`);
    const second = await again();
    assert.is(second.status, 201);
    assert.equal(second.json, first.json);
    assert.equal(await numbers(id), [2, 1]);
    const other = await created();
    assert.is(
      (await ask('POST', `/${other}/versions`, {}, { 'idempotency-key': 'k1' })).json.versionNumber,
      1,
      'a key belongs to its skill',
    );
  });
  test('Idempotency-Key: 20 at once with one key publish one version', async () => {
    const id = await created();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask('POST', `/${id}/versions`, {}, { 'idempotency-key': 'k' })),
    );
    assert.equal([...new Set(answers.map(({ status, json }) => `${status} ${json.versionNumber}`))], ['201 1']);
    assert.equal(await numbers(id), [1]);
    assert.is((await ask('GET', `/${id}`)).json.versionNumber, 1);
  });
  test('Idempotency-Key: 422 with another body', async () => {
    const id = await created();
    await ask('POST', `/${id}/versions`, { changelog: 'a' }, { 'idempotency-key': 'k' });
    const { status, json } = await ask('POST', `/${id}/versions`, { changelog: 'b' }, { 'idempotency-key': 'k' });
    assert.equal([status, json.code], [422, 'idempotency-key-reused']);
    assert.equal(await numbers(id), [1]);
  });
  test('POST versions: 500 when the acknowledgement is lost; it was published, and the same key finds it', async () => {
    const id = await created();
    const losing: Db = {
      ...db,
      async query(sql, parameters, options) {
        await db.query(sql, parameters, options);
        throw Object.assign(new Error('Cannot run a statement: lost'), { name: 'DatabaseError', sqlstate: '08006' });
      },
    };
    const lost = await ask('POST', `/${id}/versions`, {}, { 'idempotency-key': 'k' }, losing);
    assert.equal([lost.status, lost.json.code], [500, 'database-failed']);
    assert.equal(await numbers(id), [1]);
    assert.is((await ask('POST', `/${id}/versions`, {}, { 'idempotency-key': 'k' })).json.versionNumber, 1);
    assert.is((await ask('POST', `/${id}/versions`)).json.versionNumber, 2, 'a blind retry makes another');
  });
  test('a race for one number that the database reports is run again, and does not surface', async () => {
    const id = await created();
    let left = 3;
    const racing: Db = {
      ...db,
      query(sql, parameters, options) {
        if (left-- > 0)
          throw Object.assign(new Error('Cannot run a statement: it is there'), {
            ...{ name: 'DatabaseError', sqlstate: '23505' },
          });
        return db.query(sql, parameters, options);
      },
    };
    assert.is((await ask('POST', `/${id}/versions`, {}, {}, racing)).status, 201);
  });
});
