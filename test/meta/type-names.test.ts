/** Does a name stand for one thing? A type's name that two files export means something else in each, and a reader finds the wrong one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('names of types');

/** A project of its own, which `svc cassette new` copies for its author. */
const SCAFFOLD = 'core/cassette/scaffold/';

/** The types, interfaces and classes that a source declares and exports; not those that it passes on. */
function typesOf(path: string, source: string): string[] {
  return ts
    .createSourceFile(path, source, ts.ScriptTarget.Latest)
    .statements.flatMap((statement) =>
      (ts.isTypeAliasDeclaration(statement) ||
        ts.isInterfaceDeclaration(statement) ||
        ts.isClassDeclaration(statement)) &&
      statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
        ? (statement.name?.text ?? [])
        : [],
    );
}

/** Each name with the files that export a type of it, where they are several. */
function sharedNames(sources: ReadonlyMap<string, string>): string[] {
  const paths = new Map<string, string[]>();
  for (const [path, source] of sources)
    for (const name of typesOf(path, source)) paths.set(name, [...(paths.get(name) ?? []), path]);
  return [...paths].flatMap(([name, of]) => (of.length > 1 ? `${name}: ${of.join(', ')}` : []));
}

test('a name that two files export is noticed', () => {
  const declared =
    'export type Block = 1; export interface Wire {} export class Lost {} type Own = 1; const Config = 1;';
  assert.equal(typesOf('a.ts', declared), ['Block', 'Wire', 'Lost']);
  const shared = (...sources: [path: string, source: string][]) => sharedNames(new Map(sources));
  const block = 'export type Block = 1;';
  assert.equal(shared(['a.ts', block], ['b.ts', "export type { Block } from './a.ts'; type Block = 2;"]), []);
  assert.equal(shared(['a.ts', block], ['b.tsx', block]), ['Block: a.ts, b.tsx']);
});

test('each type of the product has a name of its own', () => {
  const root = packageRoot();
  const paths = ['core', 'proxy', 'ingest', 'cassettes'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .map((path) => `${room}/${path}`)
      .filter((path) => /\.tsx?$/.test(path) && !path.includes('node_modules') && !path.startsWith(SCAFFOLD)),
  );
  assert.ok(paths.length > 1_000, `${paths.length}`);
  assert.equal(sharedNames(new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))), []);
});

test.run();
