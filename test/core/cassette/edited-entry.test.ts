/** What is under way on the database while an entry of the list is edited: the process before it ends its work, the new one has its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openCassetteDatabases } from '../../../core/cassette/database/cassette-databases.ts';
import { openHost } from '../../../core/cassette/host.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, emptyCassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';
import { emptyServerDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('an edited entry (server)');
const ROWS = 1_500; // of 10 KB, which no buffer on the way holds

const BEFORE = `
  if (path === '/api/notes/stream') {
    const rows = env.DB.stream("select n, repeat('x', 10000) as pad from generate_series(1, ${ROWS}) n")[Symbol.asyncIterator]();
    return new Response(new ReadableStream({
      async pull(controller) {
        const { done, value } = await rows.next();
        if (done) controller.close();
        else controller.enqueue(new TextEncoder().encode(value.n + ' ' + value.pad + '\\n'));
      },
    }, { highWaterMark: 1 }), { headers: { 'content-type': 'text/plain' } });
  }
  if (path === '/api/notes/long')
    return json((await env.DB.query('select count(*)::integer as n from generate_series(1, 3000000)')).rows);
`;

test('a stream and a statement of the process before it end as they would have', async () => {
  const own = await emptyServerDatabase(dsn);
  const log = openLog('silent');
  const database = await openDatabase({ dsn: own.dsn, pooled: false, folder: '', log });
  const databases = openCassetteDatabases({ database, dsn: own.dsn, pooled: false, log });
  const bindings = ['db'];
  const manifest = { config: [{ key: 'greeting', type: 'string' }], bindings: { db: true } };
  const [folder, tmp] = [await cassetteFolder({ manifest, before: BEFORE }), await emptyCassetteFolder()];
  const host = openHost({
    ...{ installed: tmp, tmp, databases, log, now: Date.now, environment: {}, core: null },
    retryMs: { first: 50, most: 500 },
  });
  const apply = (greeting: string) => {
    const entry = ListEntry.parse({ name: 'notes', source: folder, config: { greeting }, grants: { bindings } });
    return host.apply({ entries: [entry], loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: () => '/' });
  };
  const get = (path: string) =>
    host.answer('notes', {
      request: new Request(`http://localhost/v1/cassettes/notes${path}`),
      ...{ caller: null, requestId: '0195f6d0-0000-7000-8000-000000000000', peer: null },
    });
  const greets = async (greeting: string) =>
    eventually(async () =>
      get('/hello').then(
        async (response) => ((await response.json()) as { hello: string }).hello === greeting,
        () => false,
      ),
    );
  try {
    void apply('one');
    await greets('one');
    const reader = (await get('/stream')).body?.getReader();
    await reader?.read();
    const long = get('/long').then((response) => response.json());
    await sleep(100);

    const edited = apply('two');
    await greets('two');
    let bytes = 0;
    let last = '';
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.byteLength;
      last = new TextDecoder().decode(next.value);
    }
    assert.ok(bytes > (ROWS - 100) * 10_000, `${bytes} bytes`);
    assert.ok(last.endsWith('x\n'));
    assert.equal(await long, [{ n: 3_000_000 }]);
    await edited;
    assert.equal(await (await get('/long')).json(), [{ n: 3_000_000 }]);
  } finally {
    await host.close(0);
    await databases.close();
    await database.close();
    await own.drop();
    await Promise.all([folder, tmp].map(removeCassetteFolder));
  }
});

if (dsn === '') console.log('skip: an edited entry (server): SVC_TEST_DSN is not set');
else test.run();
