import * as assert from 'uvu/assert';
import skills from '../../../cassettes/skills/cassette.ts';
import { standCassette } from '../../support/cassette-stand.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { posted, rpc } from '../../support/mcp.ts';
import type { Json } from '../../support/read-api.ts';

type Stand = Awaited<ReturnType<typeof standCassette>>;
const NOBODY = '00000000-0000-4000-8000-000000000000';

databaseSuite('skills', (test, database) => {
  let stand: Stand;
  test.before(async () => {
    stand = await standCassette(database(), { folder: 'skills', manifest: skills.manifest, trustCallerHeader: true });
    assert.is(stand.shown()?.state, 'admitted', JSON.stringify(stand.shown()?.trouble));
  });
  test.before.each(() => emptied(database()));
  test.after(() => stand.close());

  const as = (caller: string | null) => (caller === null ? {} : { 'x-svc-auth-subject': caller });
  const ask = async (method: string, path: string, body?: unknown, caller: string | null = null) => {
    const init = { method, headers: as(caller), ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await stand.ask(path, init);
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '') ? (JSON.parse(text) as Json) : null;
    return { status: response.status, headers: response.headers, text, json };
  };
  const created = async (body: object = {}, caller: string | null = null): Promise<Json> => {
    const { status, json, text } = await ask('POST', '', body, caller);
    assert.is(status, 201, text);
    return json;
  };
  const names = ({ json }: { json: Json }) => json.items.map(({ name }: Json) => name);
  const refused = (answer: { status: number; headers: Headers; json: Json }, status: number, code: string) => {
    assert.is(answer.status, status, JSON.stringify(answer.json));
    assert.is(answer.headers.get('content-type'), 'application/problem+json');
    assert.is(answer.json.code, code);
    assert.is(answer.json.error, answer.json.detail);
  };

  test('POST create: 201 with the defaults of a skill from scratch', async () => {
    const skill = await created();
    const { id, createdAt, updatedAt, ...rest } = skill;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.is(updatedAt, createdAt);
    assert.equal(rest, {
      ...{ slug: 'new-skill', parentId: null, name: 'New skill', description: '', type: 'workflow', version: '0.1.0' },
      ...{ versionNumber: 0, visibility: 'private', tags: [], content: '', claims: [], isAiGenerated: false },
      ...{ originatingSessionIds: [], authorId: null, downloadCount: 0 },
    });
  });
  test('POST create: the caller is the creator', async () => {
    assert.is((await created({}, 'dana')).authorId, 'dana');
  });
  test('POST create: 400 invalid body', async () => {
    for (const body of [
      { type: 'poem' },
      { name: 3 },
      { tags: 'a' },
      [],
      null,
      { name: 'a\0b' },
      { content: '\ud800' },
    ])
      refused(await ask('POST', '', body), 400, 'bad-request');
    const response = await stand.ask('', { method: 'POST', body: '{"name":' });
    assert.is(response.status, 400);
    assert.is((await stand.ask('', { method: 'POST' })).status, 400);
    refused(await ask('POST', '', { description: 'x'.repeat(1025) }), 400, 'bad-request');
  });
  test('POST create: a body that does not say that it is JSON is read all the same', async () => {
    const response = await stand.ask('', {
      method: 'POST',
      body: '{"name":"plain"}',
      headers: { 'content-type': 'text/plain' },
    });
    assert.is(response.status, 201);
    assert.is(((await response.json()) as Json).name, 'plain');
  });
  test('POST create: 413 for a body that is larger than 4 MiB', async () => {
    refused(await ask('POST', '', { content: 'x'.repeat(4 * 1024 * 1024) }), 413, 'body-too-large');
  });

  test('GET one: 200, and 404', async () => {
    const skill = await created({ name: 'Über Café', tags: ['a', 'b'] });
    const { status, json } = await ask('GET', `/${skill.id}`);
    assert.is(status, 200);
    assert.equal(json, skill);
    assert.is(json.slug, 'uber-cafe');
    refused(await ask('GET', `/${NOBODY}`), 404, 'skill-unknown');
    refused(await ask('GET', '/no-id'), 404, 'route-unknown');
  });

  test('PUT: 200, what is left out stays, a name gives another slug, and nobody is asked who the caller is', async () => {
    const skill = await created({ name: 'One', tags: ['a'], content: 'old' }, 'dana');
    const { status, json } = await ask(
      'PUT',
      `/${skill.id}`,
      { name: 'Two', tags: ['b', 'c'], visibility: 'team' },
      'eve',
    );
    assert.is(status, 200);
    assert.equal([json.name, json.slug, json.tags, json.visibility], ['Two', 'two', ['b', 'c'], 'team']);
    assert.equal([json.content, json.authorId], ['old', 'dana']);
    assert.equal((await ask('PUT', `/${skill.id}`, { tags: [] })).json.tags, []);
  });
  test('PUT: a skill as it was read can be sent back', async () => {
    const skill = await created({ name: 'One' });
    assert.is((await ask('PUT', `/${skill.id}`, { ...skill, content: 'new' })).json.content, 'new');
  });
  test('PUT: 400 invalid body', async () => {
    const { id } = await created();
    refused(await ask('PUT', `/${id}`, { type: 'poem' }), 400, 'bad-request');
    refused(await ask('PUT', `/${id}`, { name: ' ' }), 400, 'bad-request');
    refused(await ask('PUT', `/${id}`, 'text'), 400, 'bad-request');
  });
  test('PUT: 404', async () => {
    refused(await ask('PUT', `/${NOBODY}`, { name: 'x' }), 404, 'skill-unknown');
  });

  test('DELETE: 204 by its creator, and its history is gone with it', async () => {
    const { id } = await created({}, 'dana');
    await ask('POST', `/${id}/versions`);
    const { status, text } = await ask('DELETE', `/${id}`, undefined, 'dana');
    assert.is(status, 204);
    assert.is(text, '');
    assert.equal((await ask('GET', `/${id}/versions`)).json, { versions: [], totalCount: 0 });
    refused(await ask('GET', `/${id}`), 404, 'skill-unknown');
  });
  test('DELETE: 403 creator mismatch, also without a caller', async () => {
    const { id } = await created({}, 'dana');
    refused(await ask('DELETE', `/${id}`, undefined, 'eve'), 403, 'creator-mismatch');
    refused(await ask('DELETE', `/${id}`), 403, 'creator-mismatch');
    assert.is((await ask('GET', `/${id}`)).status, 200);
  });
  test('DELETE: a skill without a creator can be deleted by anyone', async () => {
    const [one, other] = [await created(), await created()];
    assert.is((await ask('DELETE', `/${one.id}`)).status, 204);
    assert.is((await ask('DELETE', `/${other.id}`, undefined, 'eve')).status, 204);
  });
  test('DELETE: 404', async () => {
    refused(await ask('DELETE', `/${NOBODY}`), 404, 'skill-unknown');
  });
  test('a duplicate outlives what it was made of', async () => {
    const { id } = await created();
    const copy = (await ask('POST', `/${id}/duplicate`)).json;
    assert.is((await ask('DELETE', `/${id}`)).status, 204);
    assert.is((await ask('GET', `/${copy.id}`)).json.parentId, null);
  });

  test('POST duplicate: 201, a fork under a fresh id', async () => {
    const skill = await created({ name: 'One', tags: ['a'], content: 'text', visibility: 'team' }, 'dana');
    await ask('POST', `/${skill.id}/versions`);
    await ask('GET', `/${skill.id}/skill.md`);
    const { status, json } = await ask('POST', `/${skill.id}/duplicate`, undefined, 'eve');
    assert.is(status, 201);
    assert.is.not(json.id, skill.id);
    assert.equal(
      [json.name, json.parentId, json.visibility, json.version, json.versionNumber, json.downloadCount, json.authorId],
      ['One (copy)', skill.id, 'private', '0.1.0', 0, 0, 'eve'],
    );
    assert.equal([json.tags, json.content], [['a'], 'text']);
    assert.is((await ask('GET', `/${json.id}/versions`)).json.totalCount, 0);
  });
  test('POST duplicate: 404', async () => {
    refused(await ask('POST', `/${NOBODY}/duplicate`), 404, 'skill-unknown');
  });

  test('GET skill.md: 200 as text/markdown, and each download counts', async () => {
    const { id } = await created({ name: 'Roll back', description: 'How to: roll back', content: '# Steps' });
    const { status, headers, text } = await ask('GET', `/${id}/skill.md`);
    assert.is(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/markdown/);
    assert.is(headers.get('content-disposition'), 'attachment; filename="roll-back.md"');
    assert.match(text, /^---\nname: "roll-back"\ndescription: "How to: roll back"\n/);
    await Promise.all(Array.from({ length: 10 }, () => ask('GET', `/${id}/skill.md`)));
    assert.is((await ask('GET', `/${id}`)).json.downloadCount, 11);
  });
  test('HEAD skill.md has the headers and is no download', async () => {
    const { id } = await created({ name: 'x' });
    const response = await stand.ask(`/${id}/skill.md`, { method: 'HEAD' });
    assert.is(response.headers.get('content-disposition'), 'attachment; filename="x.md"');
    assert.is((await ask('GET', `/${id}`)).json.downloadCount, 0);
  });
  test('GET skill.md: 404', async () => {
    refused(await ask('GET', `/${NOBODY}/skill.md`), 404, 'skill-unknown');
  });

  const many = async (count: number) => {
    for (let i = 0; i < count; i++) await created({ name: `s${String(i).padStart(3, '0')}` });
  };
  test('limit: 24 by default, 100 at most, and what is no positive whole number is 400', async () => {
    await many(103);
    const count = async (query: string) => (await ask('GET', query)).json.items.length;
    assert.is(await count(''), 24);
    assert.is(await count('?limit=5'), 5);
    assert.is(await count('?limit=1000'), 100);
    for (const bad of ['0', '-1', 'AAA', '1.5', '']) {
      const answer = await ask('GET', `?limit=${bad}`);
      refused(answer, 400, 'bad-request');
      assert.is(answer.json.error, 'Cannot read the query: "limit" must be a positive whole number');
    }
  });
  test('cursor: next_cursor leads through everything once, and is absent on the last page', async () => {
    await many(25);
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 10; page++) {
      const { json } = await ask('GET', `?limit=10${cursor}`);
      seen.push(...names({ json }));
      if (json.next_cursor === undefined) break;
      cursor = `&cursor=${json.next_cursor}`;
    }
    assert.is(seen.length, 25);
    assert.equal(seen, [...seen].sort().reverse(), 'updated last first');
  });
  test('cursor: exactly a page has no next one', async () => {
    await many(3);
    assert.is((await ask('GET', '?limit=3')).json.next_cursor, undefined);
  });
  test('GET list: 400 malformed cursor, or one of another sort', async () => {
    await many(2);
    for (const bad of ['x', 'WzFd', '%00', encodeURIComponent('[]')])
      refused(await ask('GET', `?cursor=${bad}`), 400, 'bad-request');
    const { next_cursor } = (await ask('GET', '?limit=1')).json;
    assert.is((await ask('GET', `?limit=1&cursor=${next_cursor}`)).status, 200);
    refused(await ask('GET', `?limit=1&sort=downloads&cursor=${next_cursor}`), 400, 'bad-request');
  });
  test('a path with a name of its own is no skill: 405 with the method that would do', async () => {
    for (const name of ['list', 'get', 'generate'])
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await ask(method, `/${name}`);
        refused(answer, 405, 'method-not-allowed');
        assert.is(answer.headers.get('allow'), 'POST', `${method} ${name}`);
      }
    const answer = await ask('PATCH', `/${NOBODY}`);
    assert.is(answer.headers.get('allow'), 'DELETE, GET, HEAD, PUT');
  });
  test('a parameter that the list has not is 400, and names the one that was meant', async () => {
    const answer = await ask('GET', '?limt=5');
    refused(answer, 400, 'bad-request');
    assert.is(answer.json.error, 'Cannot read the query: "limt" is no parameter here; did you mean "limit"?');
  });
  test('q: searches name, description and tags, and takes its wildcards as they are', async () => {
    await created({ name: 'Alpha 100%' });
    await created({ name: 'b', description: 'about ALPHA' });
    await created({ name: 'c', tags: ['alphabet'] });
    await created({ name: 'd', content: 'alpha' });
    assert.equal(names(await ask('GET', '?q=alpha')), ['c', 'b', 'Alpha 100%']);
    assert.equal(names(await ask('GET', '?q=0%25')), ['Alpha 100%']);
    assert.equal(names(await ask('GET', '?q=_')), []);
  });
  test('scope: all, mine or team, with counts of each', async () => {
    await created({ name: 'of dana' }, 'dana');
    await created({ name: 'of eve', visibility: 'team' }, 'eve');
    await created({ name: 'of nobody' });
    const { json } = await ask('GET', '', undefined, 'dana');
    assert.equal(json.counts, { all: 3, mine: 1, team: 1 });
    assert.is(json.items.length, 3);
    assert.equal(names(await ask('GET', '?scope=mine', undefined, 'dana')), ['of dana']);
    assert.equal(names(await ask('GET', '?scope=mine')), ['of nobody']);
    assert.equal(names(await ask('GET', '?scope=team', undefined, 'dana')), ['of eve']);
    assert.is((await ask('GET', '?scope=other')).json.items.length, 3);
  });
  test('sort: most recently updated by default, downloads for most downloaded, in pages too', async () => {
    const [a, b, c] = [await created({ name: 'a' }), await created({ name: 'b' }), await created({ name: 'c' })];
    await ask('PUT', `/${a.id}`, { content: 'newer' });
    for (const { id } of [b, b, c]) await ask('GET', `/${id}/skill.md`);
    assert.equal(names(await ask('GET', '')), ['a', 'c', 'b']);
    const first = await ask('GET', '?sort=downloads&limit=2');
    assert.equal(names(first), ['b', 'c']);
    assert.equal(names(await ask('GET', `?sort=downloads&limit=2&cursor=${first.json.next_cursor}`)), ['a']);
  });
  test('session_id: only skills of that session, unpaginated', async () => {
    await many(30);
    await database().sql(
      `update ${await tableOf(database(), 'skills')} set generated_from_session_ids = array['s1', 's2'] where name <> 's000'`,
    );
    const { json } = await ask('GET', '?session_id=s2&limit=3');
    assert.is(json.items.length, 29);
    assert.equal(Object.keys(json), ['items']);
    assert.equal((await ask('GET', '?session_id=other')).json, { items: [] });
  });
  test('a NUL in any parameter is a 400, and so is one or half a character in a body', async () => {
    const { id } = await created();
    for (const [method, path] of [
      ...['session_id', 'q', 'cursor', 'scope', 'sort', 'limit', 'other'].map((name) => ['GET', `?${name}=%00`]),
      ...[
        ['GET', '?q=a%00b'],
        ['GET', '?%00=1'],
        ['GET', '/%00'],
        ['GET', `/${id}%00`],
        ['PUT', '/a%00b'],
      ],
      ...[
        ['DELETE', '/%00'],
        ['GET', '/%00/versions'],
        ['POST', '/%00/versions'],
        ['GET', '/%00/skill.md'],
      ],
    ] as [string, string][])
      refused(await ask(method, path, method === 'GET' || method === 'DELETE' ? undefined : {}), 400, 'bad-request');
    for (const bad of ['\0', 'a\0b', '\ud800', '\udc00x'])
      for (const [path, body] of [
        ...['name', 'description', 'content', 'visibility', 'type'].map((name) => ['', { [name]: bad }]),
        ...[
          ['', { tags: [bad] }],
          [`/${id}/versions`, { changelog: bad }],
          ['/list', { q: bad }],
          ['/get', { id: bad }],
        ],
        ...[['/generate', { sessionIds: [NOBODY], hint: { name: bad } }]],
      ] as [string, object][])
        refused(await ask('POST', path, body), 400, 'bad-request');
  });
  test('GET list: 500 listing failure, GET versions: 500, and neither tells what the database said', async () => {
    const table = await tableOf(database(), 'skills');
    const versions = await tableOf(database(), 'skill_versions');
    await database().sql(`alter table ${table} rename to away`);
    await database().sql(`alter table ${versions} rename to versions_away`);
    try {
      refused(await ask('GET', ''), 500, 'database-failed');
      refused(await ask('GET', `/${NOBODY}/versions`), 500, 'database-failed');
      assert.not.match((await ask('GET', '')).text, /relation|skills/);
    } finally {
      await database().sql(`alter table ${table.replace(/\.skills$/, '.away')} rename to skills`);
      await database().sql(
        `alter table ${versions.replace(/\.skill_versions$/, '.versions_away')} rename to skill_versions`,
      );
    }
  });
  test('another method is 405 with those that would do, and HEAD is like GET', async () => {
    const response = await stand.ask('', { method: 'PATCH' });
    assert.is(response.status, 405);
    assert.is(response.headers.get('allow'), 'GET, HEAD, POST');
    assert.is((await stand.ask('', { method: 'HEAD' })).status, 200);
  });
  test('agents get the tools list and get, which only read, and they answer', async () => {
    const skill = await created({ name: 'Roll back', content: 'text' });
    const called = async (method: string, params: object) => {
      const response = await stand.ask('/v1/mcp', posted(rpc(method, params)));
      return ((await response.json()) as Json).result;
    };
    const { tools } = await called('tools/list', {});
    const ours = tools.filter(({ name }: Json) => name.startsWith('skills_'));
    assert.equal(
      ours.map(({ name, annotations }: Json) => [name, annotations.readOnlyHint]),
      [
        ['skills_get', true],
        ['skills_list', true],
      ],
    );
    const listed = await called('tools/call', { name: 'skills_list', arguments: { q: 'roll' } });
    assert.equal(
      listed.structuredContent.items.map(({ id }: Json) => id),
      [skill.id],
    );
    assert.not.ok('content' in listed.structuredContent.items[0]);
    const got = await called('tools/call', { name: 'skills_get', arguments: { id: skill.id } });
    assert.equal(got.structuredContent.skill, skill);
  });
  test('without a gateway that is trusted, nobody is anybody', async () => {
    const open = await standCassette(database(), { folder: 'skills', manifest: skills.manifest, name: 'open' });
    try {
      const answer = await open.ask('', { method: 'POST', body: '{}', headers: as('dana') });
      assert.is(((await answer.json()) as Json).authorId, null);
    } finally {
      await open.close();
    }
  });
  test('without a database every route answers 501', async () => {
    const bare = await standCassette(database(), { folder: 'skills', manifest: skills.manifest, withDatabase: false });
    try {
      for (const [method, path] of [
        ...[
          ['GET', ''],
          ['POST', ''],
          ['GET', `/${NOBODY}`],
          ['PUT', `/${NOBODY}`],
          ['DELETE', `/${NOBODY}`],
        ],
        ...[
          ['GET', `/${NOBODY}/versions`],
          ['POST', `/${NOBODY}/versions`],
          ['POST', `/${NOBODY}/duplicate`],
        ],
        ['GET', `/${NOBODY}/skill.md`],
      ] as const) {
        const response = await bare.ask(path, { method, ...(/P/.test(method) ? { body: '{}' } : {}) });
        assert.is(response.status, 501, `${method} ${path}: ${await response.text()}`);
      }
    } finally {
      await bare.close();
    }
  });
});

/** With its schema, which is named after the database on a server. */
async function tableOf(database: TestDatabase, table: string): Promise<string> {
  const rows = await database.sql(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where tablename = $1 and schemaname like 'cassette_skills%'`,
    [table],
  );
  return String(rows[0]?.name);
}

async function emptied(database: TestDatabase): Promise<void> {
  await database.sql(`truncate ${await tableOf(database, 'skills')} cascade`);
}
