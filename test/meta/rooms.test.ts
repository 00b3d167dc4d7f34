/** Does the list of rooms name each folder and file of the house, and none that is absent? The import order holds only for what it names. */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const root = fileURLToPath(new URL('../../', import.meta.url));
const config = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as {
  forbidden: { name: string; from: { path?: string } }[];
};
const rooms = config.forbidden.flatMap(({ name, from }) =>
  name.startsWith('nothing-below-') ? (from.path ?? []) : [],
);
const test = suite('rooms');

/** `^core/(a|b)\.ts$` as `core/a.ts` and `core/b.ts`. */
const pathsOf = (room: string): string[] => {
  const [before = '', choices, after = ''] = room.replace(/[\^$\\]/g, '').split(/[()]/);
  return choices === undefined ? [before] : choices.split('|').map((choice) => before + choice + after);
};

test('there are some', () => assert.ok(rooms.length > 10));

test('each folder and each file right in core/ belongs to one room', () => {
  const entries = readdirSync(join(root, 'core'), { withFileTypes: true });
  const paths = entries.flatMap((entry) => {
    if (entry.isDirectory()) return `core/${entry.name}/any.ts`;
    return /\.(?:ts|mjs|cjs|js)$/.test(entry.name) ? `core/${entry.name}` : [];
  });
  for (const path of paths) assert.is(rooms.filter((room) => new RegExp(room).test(path)).length, 1, path);
});

test('each room exists', () => {
  for (const path of rooms.flatMap(pathsOf)) assert.ok(existsSync(join(root, path)), path);
});

test.run();
