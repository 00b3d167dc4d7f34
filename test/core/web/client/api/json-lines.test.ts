import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readJsonLines } from '../../../../../core/web/client/api/json-lines.ts';
import { ProblemError } from '../../../../../core/web/client/api/problem-error.ts';

const test = suite('readJsonLines');

/** A response whose body comes in these pieces of bytes, and then ends or breaks off. */
const response = (pieces: readonly Uint8Array[], error?: Error) => {
  let next = 0;
  return new Response(
    new ReadableStream({
      pull(controller) {
        const piece = pieces[next++];
        if (piece) controller.enqueue(piece);
        else if (error) controller.error(error);
        else controller.close();
      },
    }),
  );
};

test('lines come as they are complete, wherever the body is cut, within a character too', async () => {
  const bytes = new TextEncoder().encode('{"text":"银行"}\n{"n":1}\n\n{"n":2}');
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.slice(n * size, (n + 1) * size),
    );
    const lines: unknown[] = [];
    await readJsonLines(response(pieces), (some) => lines.push(...some));
    assert.equal(lines, [{ text: '银行' }, { n: 1 }, { n: 2 }], `pieces of ${size}`);
  }
});

test('a body that breaks off is an error in words, after the lines that came', async () => {
  const lines: unknown[] = [];
  const cut = response([new TextEncoder().encode('{"n":1}\n{"n":')], new Error('cut'));
  try {
    await readJsonLines(cut, (some) => lines.push(...some));
    assert.unreachable('it must fail');
  } catch (thrown) {
    assert.instance(thrown, ProblemError);
  }
  assert.equal(lines, [{ n: 1 }]);
});

test.run();
