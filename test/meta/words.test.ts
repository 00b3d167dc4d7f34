/** Are requests, responses, results and what is stored called so? Words of our own for what the field has a word for are no names. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('words in names');

/** With the field's word in its place. */
const WORDS: readonly (readonly [word: string, instead: string])[] = [
  ['asked', 'request, query, options'],
  ['told', 'report, result, event, response'],
  ['said', 'text, message, output'],
  ['standing', 'existing, current'],
  ['brought', 'previous, fetched'],
  ['noted', 'recorded'],
  ['patience', 'timeout, time for retries'],
  ['witness', 'observer, listener'],
  ['bell', 'wake-up signal'],
  ['pace', 'throttle, limit'],
];

/** Where a name is a key of stored JSON: the facts of a session in a derive state, which every older build has written so. */
const STORED: readonly string[] = [
  'core/derive/state.ts: told',
  'core/derive/next-state.ts: told',
  'test/core/derive/stored-state.test.ts: told',
];

const own = WORDS.map(([word]) => word).join('|');
const capital = own.replace(/(^|\|)[a-z]/g, (start) => start.toUpperCase());
/** A name in snake_case is a column or a field of the API, which stays. */
const FORBIDDEN = new RegExp(`^(?:${own})(?![a-z_])|(?:${capital})(?![a-z])`);

/** The names that a source declares: not those of what it uses, and no prose. */
function declaredIn(path: string, source: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const isDeclared = ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node.parent);
    if (isDeclared && (node.parent as { name?: ts.Node }).name === node && FORBIDDEN.test(node.text))
      names.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true));
  return names;
}

test('a name is noticed where it is declared', () => {
  for (const source of [
    'const asked = [];',
    'let { told } = report;',
    'const f = (said: string) => 1;',
    'type Told = { said: string };',
    'type LlmAsked = {};',
    'const toldOf = 1;',
    'const options = { patienceMs: 5 };',
  ])
    assert.ok(declaredIn('x.ts', source).length > 0, source);
  assert.equal(
    declaredIn('x.ts', "/** What was asked. */ const title = 'is told'; state.told; const saidBlocks = 1;"),
    ['saidBlocks'],
  );
  assert.equal(
    declaredIn('x.ts', 'const understanding = 1, tolds = 2, notedly = 3, labelled = 4, bellow = 5, said_blocks = 6;'),
    [],
  );
});

test('none is declared in the product or in its tests', () => {
  const root = packageRoot();
  const sources = ['core', 'proxy', 'ingest', 'cassettes', 'test'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:tsx?|mjs)$/.test(path) && !path.includes('node_modules'))
      .map((path) => `${room}/${path}`),
  );
  assert.ok(sources.length > 1_000, `${sources.length}`);
  const found = sources.flatMap((path) =>
    declaredIn(path, readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`),
  );
  assert.equal(
    [...new Set(found.filter((name) => !STORED.includes(name)))],
    [],
    JSON.stringify(Object.fromEntries(WORDS)),
  );
  for (const name of STORED) assert.ok(found.includes(name), `${name} is no exception any more`);
});

test.run();
