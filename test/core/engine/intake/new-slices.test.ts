/** What was stored before a purge is not taken for stored after it, whatever else is under way in the same process. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { sliceId } from '../../../../core/capture/slice-codec.ts';
import type { Database } from '../../../../core/db/database.ts';
import { openNewSlices } from '../../../../core/engine/intake/new-slices.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

const slice = (words: string) => {
  const bytes = Buffer.from(words);
  return { slice_id: sliceId(bytes), bytes };
};
const [kept, first, second] = ['kept', 'first', 'second'].map(slice) as [Slice, Slice, Slice];
type Slice = ReturnType<typeof slice>;

databaseSuite('new slices', (test, database) => {
  test.before.each(() => database().reset());

  const store = async (slices: readonly { slice_id: string }[]) => {
    for (const { slice_id } of slices)
      await database().sql(
        `insert into svc.slices (slice_id, codec, size_bytes, bytes) values (decode($1, 'hex'), 0, 0, '') on conflict do nothing`,
        [slice_id],
      );
    return slices.map((one) => one.slice_id);
  };
  const purge = async () => {
    await database().sql('delete from svc.slices');
    await database().sql('update svc.installation set purges = purges + 1');
  };

  test('a slice that is cached is not stored again', async () => {
    const { storing } = openNewSlices(database());
    assert.equal(await storing([kept], ({ slices }) => store(slices)), [kept.slice_id]);
    assert.equal(await storing([kept, first], ({ slices }) => store(slices)), [first.slice_id]);
  });

  test('what is cached is forgotten when nothing comes for a while, and then found in the database', async () => {
    let queried: string[] = [];
    const execute = ((name: never, args: { ids: string[] }) => {
      queried = args.ids;
      return database().execute(name, args as never);
    }) as Database['execute'];
    const { storing } = openNewSlices({ ...database(), execute }, 'usual', 100);
    await storing([kept], ({ slices }) => store(slices));
    await eventually(async () => {
      queried = [];
      await sleep(150);
      assert.equal(await storing([kept], ({ slices }) => store(slices)), []);
      return queried.length > 0;
    });
    assert.equal(queried, [kept.slice_id]);
  });

  test('a purge that another caller notices first, while this one asks what is stored', async () => {
    const held = new EventTarget();
    const released = once(held, 'release');
    const execute = (async (name: never, args: { ids?: string[] }) => {
      if (args.ids?.includes(first.slice_id)) await released;
      return database().execute(name, args as never);
    }) as Database['execute'];
    const { storing } = openNewSlices({ ...database(), execute });
    await storing([kept], ({ slices }) => store(slices));
    const waiting = storing([kept, first], ({ slices }) => store(slices));
    await purge();
    await storing([second], ({ slices }) => store(slices));
    held.dispatchEvent(new Event('release'));
    assert.equal((await waiting).sort(), [kept.slice_id, first.slice_id].sort());
  });

  test('a purge between the commit of a slice and the report of it', async () => {
    const { storing } = openNewSlices(database());
    await storing([kept], async ({ slices }) => {
      await store(slices);
      await purge();
      await storing([second], (fresh) => store(fresh.slices)); // notices it
    });
    assert.equal(await storing([kept], ({ slices }) => store(slices)), [kept.slice_id]);
  });

  test('what the server before a fail-over had stored is looked for on the one that took over', async () => {
    let earlier = true; // the start time of another server
    const execute = (async (name: never, args: never) => {
      const result: unknown = await database().execute(name, args);
      const { purges } = result as { purges?: unknown };
      return earlier && typeof purges === 'string'
        ? { ...(result as object), purges: purges.replace(/@.*/, '@1') }
        : result;
    }) as Database['execute'];
    const { storing } = openNewSlices({ ...database(), execute });
    await storing([kept], ({ slices }) => store(slices));
    await database().sql('delete from svc.slices'); // the commit is lost with its server, and no purge counted it
    earlier = false;
    const reading = { read_up_to: 0, calls: [], nodes: [], slices: [], corrections: 0 };
    const stored = await storing([kept], async ({ slices, purges }) => {
      const session_id = '00000000-0000-4000-8000-000000000000';
      await database().execute('replaceNodes', { ...reading, session_id, purges: purges ?? '' }); // as every writer, it compares first
      return store(slices);
    });
    assert.equal(stored, [kept.slice_id]);
  });

  test('while one purge follows another, all slices are sent, and none of them is cached', async () => {
    const { storing } = openNewSlices(database());
    const reading = { read_up_to: 0, calls: [], nodes: [], slices: [], corrections: 0 };
    const session_id = '00000000-0000-4000-8000-000000000000';
    await storing([kept], ({ slices }) => store(slices));
    let attempts = 0;
    const stored = await storing([kept, first], async ({ slices, purges }) => {
      attempts++;
      await purge();
      if (purges !== undefined) await database().execute('replaceNodes', { ...reading, session_id, purges }); // as every writer, it compares first
      return store(slices);
    });
    assert.equal(stored.sort(), [kept.slice_id, first.slice_id].sort());
    assert.ok(attempts > 1, `${attempts} attempts`);
    await purge();
    assert.equal(await storing([kept], ({ slices }) => store(slices)), [kept.slice_id]);
  });

  test('where nothing was stored, nothing is cached', async () => {
    const { storing } = openNewSlices(database());
    await storing(
      [kept],
      async () => {},
      () => false,
    );
    assert.equal(await storing([kept], ({ slices }) => store(slices)), [kept.slice_id]);
  });
});
