/** Runs the `@example` blocks of docstrings: a line `expression; // => value` holds, `// => throws Name` throws that error. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('examples in docstrings');
const ROOMS = ['core', 'proxy', 'ingest', 'cassettes'];
const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (...values: unknown[]) => Promise<void>;

type Example = { file: string; name: string; code: string };

/** In the order of the files. `name` is that of the export below the docstring. */
function examples(): Example[] {
  const root = packageRoot();
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.includes('scaffold'))
      .map((path) => join(root, room, path)),
  );
  return files.flatMap((file) => {
    const found = readFileSync(file, 'utf8').matchAll(
      /\/\*\*(?:(?!\*\/)[\s\S])*?@example\n((?:(?!\*\/)[\s\S])*?)\*\/\nexport (?:async )?(?:const|function) (\w+)/g,
    );
    return [...found].map(([, block = '', name = '']) => ({
      ...{ file, name },
      code: block.replace(/^ *\* ?/gm, '').split(/^@/m)[0] ?? '',
    }));
  });
}

const asserted = (code: string): string =>
  code
    .split('\n')
    .map((line) => {
      const [, expression, expected = ''] = /^(.*?);? \/\/ => (.*)$/.exec(line) ?? [];
      if (expression === undefined) return line;
      const [, error] = /^throws (\w+)$/.exec(expected) ?? [];
      return error === undefined
        ? `equal((${expression}), (${expected}), ${JSON.stringify(line)});`
        : `await throws(async () => (${expression}), '${error}', ${JSON.stringify(line)});`;
    })
    .join('\n');

async function throws(run: () => Promise<unknown>, name: string, line: string): Promise<void> {
  const thrown = await run().then(
    () => null,
    (error: Error) => error,
  );
  assert.is(thrown?.constructor.name, name, line);
}

const all = examples();

for (const { file, name, code } of all)
  test(`${name} does what its docstring shows`, async () => {
    assert.match(code, '// =>');
    const exported = (await import(file)) as Record<string, unknown>;
    const scope = { ...exported, createRoute, z, equal: assert.equal, throws };
    await new AsyncFunction(...Object.keys(scope), asserted(code))(...Object.values(scope));
  });

test('the functions that most rooms use have one', () => {
  assert.ok(all.length >= 10, `${all.length} examples`);
});

test.run();
