/** Is the bundle as small as it has to be, and of packages that were chosen? Measured on the files that are served. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AssetManifest, builtAssets } from '../../../core/web/assets.ts';
import { bundled } from '../../support/web.ts';

const test = suite('the size of the web UI');

const KB = 1024;
/** Each was weighed against others; one more has to be as well. */
const PACKAGES = [
  ...[
    'preact',
    '@preact/signals',
    '@preact/signals-core',
    'preact-iso',
    '@tanstack/virtual-core',
    'eventsource-parser',
  ],
  ...['marked', 'lowlight', 'highlight.js', 'diff', 'devlop'], // what the worker parses with
  ...['d3-array'],
  'internmap',
];

type Bundle = AssetManifest & { packages: readonly string[] };
const bundle = async () => {
  await bundled();
  return JSON.parse(await readFile(join(builtAssets(), 'manifest.json'), 'utf8')) as Bundle;
};
const total = ({ files }: Bundle, names: readonly string[]) =>
  names.reduce((sum, name) => sum + (files[name]?.br ?? Number.NaN), 0);
const atMost = (what: string, bytes: number, limit: number) => {
  console.log(`${what}: ${(bytes / KB).toFixed(1)} of ${limit / KB} KB`);
  assert.ok(bytes <= limit, `${what}: ${bytes} bytes, at most ${limit}`);
};

test('script that / loads before its first row', async () => {
  const built = await bundle();
  const firstPage = built.late['pages/sessions/sessions-page.tsx'] ?? [];
  atMost('script before the first row', total(built, [built.main, ...built.preload, ...firstPage]), 45 * KB);
});

test('all script, the worker and late parts included', async () => {
  const built = await bundle();
  const scripts = Object.keys(built.files).filter((name) => name.endsWith('.js'));
  assert.ok(scripts.length > 0);
  atMost('script in all', total(built, scripts), 150 * KB);
});

test('style sheet', async () => {
  const built = await bundle();
  atMost('style sheet', total(built, built.style === null ? [] : [built.style]), 14 * KB);
});

test('every package in it is on the list', async () => {
  const { packages } = await bundle();
  assert.ok(packages.includes('preact'));
  assert.equal(
    packages.filter((name) => !PACKAGES.includes(name)),
    [],
  );
});

test('the licence of every package is in the file of licences', async () => {
  const { packages, licenses } = await bundle();
  const text = await readFile(join(builtAssets(), licenses), 'utf8');
  for (const name of packages) assert.match(text, new RegExp(`^${name.replace(/[/.]/g, '\\$&')} \\d`, 'm'));
});

test.run();
