/** Parameters arrive as they were given. */
import { PGlite, parse, protocol } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bindMessage } from '../../../../core/db/client/bind-message.ts';

const { serialize } = protocol;
const test = suite('bind message');
let pglite: PGlite;
test.before(async () => {
  pglite = new PGlite();
  await pglite.waitReady;
});
test.after(() => pglite.close());

/** What PostgreSQL reads of them. */
async function received(name: string, ...parameters: (string | null)[]): Promise<(string | null)[]> {
  const list = parameters.map((_, n) => `$${n + 1}::text`).join(', ');
  const messages = [
    serialize.parse({ name, text: `select array[${list}]::text[] as all` }),
    bindMessage(name, parameters),
    ...[serialize.describe({ type: 'P' }), serialize.execute({}), serialize.sync()],
  ];
  const responses = await pglite.execProtocolStream(Buffer.concat(messages), { syncToFs: false });
  const [{ rows } = { rows: [] }] = parse.parseResults(responses, pglite.parsers);
  return (rows[0] as { all: (string | null)[] }).all;
}

for (const [what, parameters] of [
  ['none', []],
  ['texts, an empty one, and null', ['one', '', null]],
  ['texts of more than one byte a character', ['é 日本 😀', '{"a":"\u2028"}', null, 'é'.repeat(70_000)]],
] as const)
  for (const name of ['', 'named é'])
    test(`${what}, of ${name === '' ? 'the unnamed statement' : 'a named one'}`, async () => {
      assert.equal(await received(name, ...parameters), [...parameters]);
      await pglite.exec('deallocate all');
    });

test('half of a surrogate pair is replaced, as everywhere in UTF-8', async () => {
  assert.equal(await received('', 'a\ud800b', 'after'), ['a\ufffdb', 'after']);
});

test('many', async () => {
  const many = Array.from({ length: 1_600 }, (_, n) => (n % 2 ? String(n) : null));
  assert.equal(await received('', ...many), many);
});

test.run();
