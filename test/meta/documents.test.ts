/** Are the documents true? Links, anchors, named files, quoted code, npm commands and lists are compared with the repository. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Outcome } from '../../core/model/coverage.ts';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('documents');
const root = packageRoot();
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root });
const documents = files
  .toString()
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

const withoutBlocks = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '');
const withoutCode = (text: string) => withoutBlocks(text).replace(/`[^`\n]*`/g, 'code');

/** The anchors of headings, as GitHub makes them. */
const anchorsOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('each relative link leads to a file, and each anchor to a heading', () => {
  const broken = documents.flatMap(({ file, text }) => {
    const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    return targets
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const to = path === '' ? file : normalize(join(dirname(file), path));
        if (!existsSync(join(root, to))) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(join(root, to), 'utf8')).includes(anchor);
      })
      .map((target) => `${file}: ${target}`);
  });
  assert.equal(broken, []);
});

/** Files that a reader is to write are marked as new. */
const NAMED =
  /(?<![\w/.-])(?:core|proxy|ingest|cassettes|test|migrations)\/[\w./-]*\w\.(?:ts|mjs|md|json|sql)\b(?!`? \(new\))/g;

test('each file that a document names is there', () => {
  const named = documents.flatMap(({ file, text }) => [...text.matchAll(NAMED)].map(([path]) => ({ file, path })));
  assert.ok(named.length > 50);
  const coming = new Set(
    [...documents.flatMap(({ text }) => [...text.matchAll(/`([\w./-]+)` \(new\)/g)])].map(([, path]) => path),
  );
  const absent = named.filter(({ path }) => !coming.has(path) && !existsSync(join(root, path)));
  assert.equal(
    absent.map(({ file, path }) => `${file}: ${path}`),
    [],
  );
});

test('code that is quoted under the name of a file is in that file', () => {
  const quotations = documents.flatMap(({ file, text }) =>
    [...text.matchAll(/^```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)^```$/gm)].map(([, path = '', code = '']) => ({
      ...{ file, path },
      isThere: readFileSync(join(root, path), 'utf8').includes(code),
    })),
  );
  assert.ok(quotations.length > 3);
  assert.equal(
    quotations.filter(({ isThere }) => !isThere),
    [],
  );
});

test('each npm command that a document names exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const named = documents
    .filter(({ file }) => !file.startsWith('core/cassette/scaffold/'))
    .flatMap(({ text }) => [...text.matchAll(/\bnpm run ([a-z:]+)/g)].map(([, name = '']) => name));
  assert.ok(named.length > 20);
  assert.equal(
    named.filter((name) => !(name in scripts)),
    [],
  );
});

/** The first cells of a table's rows, below the heading of the first column. */
function firstCells(file: string, column: string): string[] {
  const text = documents.find((document) => document.file === file)?.text ?? '';
  const [, rows = ''] = new RegExp(`^\\| ${column} +\\|.*\\n\\|[-| ]+\\|\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? [];
  return [...rows.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell.trim());
}

test('the proxy explains each outcome', () => {
  const explained = firstCells('proxy/README.md', 'Outcome').map((cell) => cell.replaceAll('`', ''));
  assert.equal(explained.sort(), [...Outcome.options].sort());
});

test('the rooms are those of the rule, in its order', () => {
  const rule = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    forbidden: { from: { path?: string }; to: { path?: unknown } }[];
  };
  const paths = rule.forbidden.flatMap(({ from, to }) => (Array.isArray(to.path) && from.path ? [from.path] : []));
  const rooms = paths.filter((path) => /^\^core\/[a-z]+\/$/.test(path)).map((path) => path.slice(1));
  const listed = firstCells('core/README.md', 'Room').flatMap((cell) =>
    [...cell.matchAll(/`([a-z/]+)`/g)].map(([, room]) => room),
  );
  assert.ok(rooms.length > 10);
  const shared = new Set(rooms);
  assert.equal(
    listed.filter((room) => shared.has(room ?? '')),
    rooms,
  );
});

test('no document has a line that is longer than a reader can follow, tables and blocks apart', () => {
  const long = documents.flatMap(({ file, text }) =>
    withoutBlocks(text)
      .split('\n')
      .filter((line) => !line.startsWith('|') && line.length > 160)
      .map((line) => `${file}: ${line.slice(0, 60)}`),
  );
  assert.equal(long, []);
});

test.run();
