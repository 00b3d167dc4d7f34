/** The checks of an author: one that ends the process of the cassette leaves the checks after it as they are. */
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkCassette } from '../../../core/cli/cassette/check.ts';
import { cassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';

const test = suite('conformance');

test('a route that loops for ever, or ends the process, fails by itself', async () => {
  const route = { get: { responses: { 200: { description: 'Answered' } } } };
  const source = await cassetteFolder({
    document: (document) => ({
      ...document,
      paths: { '/api/notes/loop': route, '/api/notes/exit': route, ...(document.paths as object) },
    }),
    before: `if (path === '/api/notes/loop') for (;;);
      if (path === '/api/notes/exit') process.exit(3);`,
  });
  let output = '';
  const io = { cwd: source, home: source, env: {}, err: () => {}, out: (text: string) => (output += text) };
  assert.is(await checkCassette(source, { config: [] }, io, '0.0.0'), 1);
  const failed = [...stripVTControlCharacters(output).matchAll(/^ {2}no {2}(.*)$/gm)].map(([, what]) => what);
  const asDocumented = (path: string) => `GET /api/notes/${path} answers as its document says`;
  assert.equal(failed, ['loop', 'exit'].map(asDocumented), output);
  await removeCassetteFolder(source);
});

test.run();
