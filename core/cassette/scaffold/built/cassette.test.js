/** Tests of the cassette: its fetch is called as the service calls it, with a stand-in for its environment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import cassette, { manifest } from "./cassette.js";
import { openapi } from "./openapi.js";
/** Every statement has these rows, and is recorded in `statements`. */
function standIn(rows, statements = []) {
    const silent = () => { };
    return {
        DB: {
            async query(sql, parameters = []) {
                statements.push({ sql, parameters });
                return { rows: rows, row_count: rows.length };
            },
            async *stream(sql, parameters = []) {
                statements.push({ sql, parameters });
                yield* rows;
            },
        },
        CORE: { fetch: async () => Response.json({ session_count: 7 }) },
        CONFIG: { min_turns: 2 },
        LOG: { debug: silent, info: silent, warn: silent, error: silent },
    };
}
const call = (method, path, env, body) => cassette.fetch(new Request(`http://cassette${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }), env);
test('its document has its manifest, and each of its paths is its own', async () => {
    const document = await (await call('GET', '/openapi', standIn([]))).json();
    assert.deepEqual(document, { ...openapi, 'x-svc-cassette': manifest });
    for (const path of Object.keys(openapi.paths))
        assert.ok(path.startsWith(`/api/${manifest.cassette.name}/`), path);
});
test('sessions come as lines, and short ones are left out', async () => {
    const statements = [];
    const response = await call('GET', '/api/my-cassette/sessions', standIn([{ id: 'a' }, { id: 'b' }], statements));
    assert.equal(await response.text(), '{"id":"a"}\n{"id":"b"}\n');
    assert.deepEqual(statements[0]?.parameters, [2]);
});
test('the tool finds as many as are requested, and refuses an invalid limit', async () => {
    const statements = [];
    const env = standIn([{ id: 'a', title: null, turns: 9 }], statements);
    const response = await call('POST', '/api/my-cassette/longest', env, { limit: 3 });
    assert.deepEqual(await response.json(), { sessions: [{ id: 'a', title: null, turns: 9 }] });
    assert.deepEqual(statements[0]?.parameters, [2, 3]);
    assert.equal((await call('POST', '/api/my-cassette/longest', env, { limit: 0 })).status, 422);
});
test('the background work stores how many sessions there are', async () => {
    const statements = [];
    await cassette.scheduled({ scheduled_at: 0, signal: new AbortController().signal }, standIn([], statements));
    assert.match(statements[0]?.sql ?? '', /^insert into counts/);
    assert.deepEqual(statements[0]?.parameters, [7]);
});
test('what is not there is 404', async () => {
    assert.equal((await call('GET', '/api/my-cassette/nothing', standIn([]))).status, 404);
});
