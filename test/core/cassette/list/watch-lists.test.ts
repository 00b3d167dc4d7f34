import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type WatchedLists, watchLists } from '../../../../core/cassette/list/watch-lists.ts';
import { eventually } from '../../../support/eventually.ts';

type Stand = { folder: string; near: string; far: string; heard: WatchedLists[]; close(): void };

const list = (...names: string[]) =>
  JSON.stringify({ cassettes: names.map((name) => ({ name, source: `./${name}` })) });

/** Once with what the system tells, once by looking alone. */
for (const everyMs of [40, 3_600_000]) {
  const test = suite<Stand>(`watchLists (${everyMs === 40 ? 'looking' : 'told'})`);
  const names = ({ heard }: Stand) =>
    heard
      .at(-1)
      ?.list.map(({ name }) => name)
      .join() ?? '';

  test.before.each(async (stand) => {
    stand.folder = await mkdtemp(join(tmpdir(), 'svc-watch-'));
    const builtIn = join(stand.folder, 'ours.json');
    stand.near = join(stand.folder, 'near.json');
    stand.far = join(stand.folder, 'far.json');
    await writeFile(builtIn, list('export'));
    stand.heard = [];
    const candidates = [stand.near, stand.far];
    const watching = await watchLists({
      ...{ builtIn, candidates, everyMs, settleMs: 60 },
      onChange: (lists) => stand.heard.push(lists),
    });
    stand.close = watching.close;
  });
  test.after.each(async ({ folder, close }) => {
    close();
    await rm(folder, { recursive: true });
  });

  test('the first reading is heard before anything else, without a problem', (stand) => {
    assert.is(stand.heard.length, 1);
    assert.is(names(stand), 'export');
    assert.is(stand.heard[0]?.problem, null);
    assert.match(stand.heard[0]?.loaded_at ?? '', /^\d{4}-\d\d-\d\dT.*Z$/);
  });

  test('a list that appears, changes, is replaced by a rename and vanishes is picked up each time', async (stand) => {
    await writeFile(stand.far, list('one'));
    await eventually(() => names(stand) === 'export,one');
    await writeFile(stand.far, list('two'));
    await eventually(() => names(stand) === 'export,two');
    await writeFile(join(stand.folder, 'new'), list('three'));
    await rename(join(stand.folder, 'new'), stand.far);
    await eventually(() => names(stand) === 'export,three');
    await writeFile(stand.far, list('four')); // the file that took the other's place is watched as well
    await eventually(() => names(stand) === 'export,four');
    await rm(stand.far);
    await eventually(() => names(stand) === 'export');
    assert.is(stand.heard.at(-1)?.file, null);
  });

  test('the nearer list goes before the other one, as soon as it is there', async (stand) => {
    await writeFile(stand.far, list('far'));
    await eventually(() => names(stand) === 'export,far');
    await writeFile(stand.near, list('near'));
    await eventually(() => names(stand) === 'export,near');
    await rm(stand.near);
    await eventually(() => names(stand) === 'export,far');
  });

  test('a broken list keeps the last good one in effect and says why; mended, it counts again', async (stand) => {
    await writeFile(stand.far, list('one'));
    await eventually(() => names(stand) === 'export,one');
    const since = stand.heard.at(-1)?.loaded_at;
    await writeFile(stand.far, '{"cassettes": [}');
    await eventually(() => stand.heard.at(-1)?.problem !== null);
    assert.is(names(stand), 'export,one');
    assert.is(stand.heard.at(-1)?.loaded_at, since);
    assert.match(
      stand.heard.at(-1)?.problem ?? '',
      /line 1, column 16: a value must stand here.*; what was read before stays in effect$/,
    );
    await writeFile(stand.far, list('two'));
    await eventually(() => names(stand) === 'export,two');
    assert.is(stand.heard.at(-1)?.problem, null);
  });

  test('nothing is heard of an edit that changes nothing, nor after the end', async (stand) => {
    await writeFile(stand.far, list('one'));
    await eventually(() => names(stand) === 'export,one');
    const times = stand.heard.length;
    await writeFile(stand.far, list('one'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    stand.close();
    await writeFile(stand.far, list('two'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.is(stand.heard.length, times);
  });

  test.run();
}

const later = suite('watchLists, in a folder that is made later');
later('its list is found by looking', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-watch-'));
  await writeFile(join(folder, 'ours.json'), list('export'));
  const heard: WatchedLists[] = [];
  const watching = await watchLists({
    ...{ builtIn: join(folder, 'ours.json'), candidates: [join(folder, '.svc/users.json')], everyMs: 20 },
    onChange: (lists) => heard.push(lists),
  });
  await mkdir(join(folder, '.svc'));
  await writeFile(join(folder, '.svc/users.json'), list('one'));
  await eventually(() => heard.at(-1)?.list.length === 2);
  watching.close();
  await rm(folder, { recursive: true });
});
later.run();

const broken = suite('watchLists, broken from the start');
broken('ours alone is in effect, and the problem is told', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-watch-'));
  await writeFile(join(folder, 'ours.json'), list('export'));
  await writeFile(join(folder, 'users.json'), 'nonsense');
  const heard: WatchedLists[] = [];
  const watching = await watchLists({
    ...{ builtIn: join(folder, 'ours.json'), candidates: [join(folder, 'users.json')] },
    onChange: (lists) => heard.push(lists),
  });
  watching.close();
  assert.equal(
    heard.map(({ list }) => list.map(({ name }) => name)),
    [['export']],
  );
  assert.match(heard[0]?.problem ?? '', /users.json', line 1, column 1: a value must stand here/);
  await rm(folder, { recursive: true });
});
broken.run();
