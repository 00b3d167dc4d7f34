/** Is there no place in the browser UI, or in the packages that it contains, that makes HTML or code of a string? */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { builtAssets } from '../../core/web/assets.ts';
import { DOCUMENT_HEADERS, FILE_HEADERS } from '../../core/web/policy.ts';
import { bundled } from '../support/web.ts';

const test = suite('places that make HTML of a string');

const SINKS = [
  /\binnerHTML\b/,
  /\bouterHTML\b/,
  /\binsertAdjacentHTML\b/,
  /\bsetHTMLUnsafe\b/,
  /\bparseHTMLUnsafe\b/,
  /\bcreateContextualFragment\b/,
  /\bparseFromString\b/,
  /\bsrcdoc\b/i,
  /\bdocument\.write(?:ln)?\b/,
  /(?<![\w.$])eval\(/,
  /\bnew Function\b/,
  /(?<![\w.$])Function\(/,
  /\bset(?:Timeout|Interval)\(\s*["'`]/,
  /\bcreateHTML\b/,
  /\bcreateScript\b(?!URL)/,
  /\bimportScripts\b/,
];
/** In our own sources also what a bundle cannot show any more. */
const OWN_SINKS = [...SINKS, /dangerouslySetInnerHTML/, /\sstyle="/, /\son[a-z]+="/, /\bjavascript:(?=["'`])(?!.*URL)/];

const root = resolve(import.meta.dirname, '../..');
const found = (text: string, sinks: readonly RegExp[]) =>
  sinks.flatMap((sink) => {
    const at = text.search(sink);
    return at < 0 ? [] : [`${sink}: …${text.slice(Math.max(0, at - 60), at + 60)}…`];
  });

test('none is in the bundle', async () => {
  await bundled();
  const scripts = readdirSync(builtAssets()).filter((name) => name.endsWith('.js'));
  assert.ok(scripts.length > 0);
  for (const name of scripts) {
    const text = readFileSync(join(builtAssets(), name), 'utf8');
    assert.equal(found(text, SINKS), [], name);
    assert.not.match(text, 'unsafe-');
  }
});

test('none is in the sources', () => {
  const folder = join(root, 'core/web/client');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  assert.ok(sources.length > 0);
  for (const path of sources) assert.equal(found(readFileSync(join(folder, path), 'utf8'), OWN_SINKS), [], path);
});

test('Preact has one, which is looked for here: were it not found, the search would be blind', () => {
  const preact = readFileSync(join(root, 'node_modules/preact/dist/preact.mjs'), 'utf8');
  assert.is(found(preact, SINKS).length, 1);
});

test('no header allows what is unsafe', () => {
  for (const value of [...Object.values(DOCUMENT_HEADERS), ...Object.values(FILE_HEADERS)])
    assert.not.match(value, 'unsafe-');
});

test.run();
