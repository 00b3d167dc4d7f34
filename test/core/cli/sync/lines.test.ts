/** Reading a file by lines, cutting it into parts, and making a record of each line, whatever the file holds. */
import { appendFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fileLines, MAX_LINE_BYTES } from '../../../../core/cli/sync/read-lines.ts';
import { recordOfLine } from '../../../../core/cli/sync/record-of-line.ts';
import { partsOf, planParts } from '../../../../core/cli/sync/transcript-parts.ts';
import { bytesOf, type Line } from '../../../../core/cli/sync/transcript-source.ts';

const test = suite('lines of a transcript');

let folder = '';
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-lines-'));
});
test.after(() => rm(folder, { recursive: true }));

const written = async (content: string | Buffer) => {
  const path = join(folder, 'file.jsonl');
  await writeFile(path, content);
  return { path, bytes: (await stat(path)).size };
};
const linesOf = async (content: string | Buffer): Promise<string[]> => {
  const lines: Line[] = [];
  for await (const batch of fileLines(await written(content))) lines.push(...batch);
  return lines.map((line) => bytesOf(line).toString('utf8'));
};

test('lines are those of the file: without ends, blank ones and a byte order mark, the last one with or without its end', async () => {
  assert.equal(await linesOf(''), []);
  assert.equal(await linesOf('\ufeff{"a":1}\r\n\r\n  \n{"b":"\ufeff"}\n{"torn'), [
    '{"a":1}',
    '{"b":"\ufeff"}',
    '{"torn',
  ]);
  const line = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }).map((text) => JSON.stringify(text));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 40 }), fc.boolean(), async (lines, ends) => {
      const repeated = Array.from({ length: 60 }, () => lines).flat();
      assert.equal(await linesOf(repeated.join('\n') + (ends ? '\n' : '')), repeated);
    }),
    { numRuns: 20 },
  );
});

test('of a line that is longer than the service takes, the rest of its long texts is left out, and it stays JSON', async () => {
  const record = (text: string) => ({
    uuid: 'u1',
    message: { content: [{ data: text }, { text: 'short "é' }] },
    parent: 'u0',
  });
  for (const unit of ['aGVsbG8gd29y', '\\"\\u00e9\\ud83d\\ude00', 'é😀\u0000\n']) {
    const text = unit.repeat(Math.ceil((2.5 * MAX_LINE_BYTES) / Buffer.byteLength(unit)));
    const [before = '', long = '', after = ''] = await linesOf(`1\n${JSON.stringify(record(text))}\n2`);
    assert.equal([before, after], ['1', '2']);
    const read = JSON.parse(long);
    const [{ data }] = read.message.content;
    assert.equal(read, record(data));
    const [kept = '', left] = data.split(' [svc sync left out ');
    assert.ok(text.startsWith(kept) && kept.length > 2_000 && long.length < 40_000);
    assert.match(left, /^\d{7,9} bytes\]$/);
  }
});

test('a line that is long without long texts is left out, and those around it are read', async () => {
  const numbers = `[${'1,'.repeat(MAX_LINE_BYTES / 2)}1]`;
  const note = JSON.stringify(`[svc sync left out a line of ${numbers.length} bytes]`);
  assert.equal(await linesOf(`1\n${numbers}\n2`), ['1', note, '2']);
});

test('what is written while a file is read belongs to its next version', async () => {
  const found = await written('1\n2\n');
  await appendFile(found.path, '3\n');
  const lines: Line[] = [];
  for await (const batch of fileLines(found)) lines.push(...batch);
  assert.is(lines.length, 2);
});

async function* inBatches(lines: readonly Line[]): AsyncGenerator<Line[]> {
  for (let i = 0; i < lines.length; i += 7) yield lines.slice(i, i + 7);
}

test('parts hold every line once and in order, and none is larger than a body may be', async () => {
  const line = fc.integer({ min: 1, max: MAX_LINE_BYTES - 1 }).map((size): Line => Buffer.alloc(size, '1'));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
      const parts = [];
      for await (const part of partsOf(inBatches(lines))) parts.push({ ...part, lines: [...part.lines] });
      assert.equal(
        parts.flatMap((part) => part.lines.map((one) => bytesOf(one).length)),
        lines.map((one) => bytesOf(one).length),
      );
      let from_line = 0;
      let prefix: string | null = null;
      for (const [index, part] of parts.entries()) {
        assert.equal([part.index, part.from_line, part.prefix_sha256], [index, from_line, prefix]);
        assert.is(part.is_last, index === parts.length - 1);
        from_line += part.lines.length;
        prefix = part.through_sha256;
        const held = part.lines.reduce((sum, one) => sum + bytesOf(one).length, 0);
        assert.ok(held <= 8 * 1024 * 1024);
      }
      const plan = await planParts(inBatches(lines));
      assert.equal(plan, { count: parts.length, file_sha256: prefix ?? '' });
    }),
    { numRuns: 20 },
  );
});

test('a file that has grown has the same parts up to its former last one', async () => {
  const lines = Array.from({ length: 9 }, (_, n): Line => Buffer.alloc(1024 * 1024, String(n)));
  const partsOfFirst = async (count: number) => {
    const parts = [];
    for await (const { lines: own, ...part } of partsOf(inBatches(lines.slice(0, count)))) parts.push(part);
    return parts;
  };
  for (let count = 1; count < lines.length; count++) {
    const [before, after] = [await partsOfFirst(count), await partsOfFirst(count + 1)];
    assert.equal(after.slice(0, before.length - 1), before.slice(0, -1));
    assert.is(after[before.length - 1]?.prefix_sha256, before.at(-1)?.prefix_sha256);
  }
});

test('the hash of a plan is that of its lines', async () => {
  const hashOf = async (...lines: string[]) =>
    (await planParts(inBatches(lines.map(Buffer.from as never)))).file_sha256;
  const hash = await hashOf('1', '2');
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.is(await hashOf('1', '2'), hash);
  for (const other of [['12'], ['1'], ['2', '1'], ['1', '2', '3']]) assert.is.not(await hashOf(...other), hash);
});

test('a record is the line, byte for byte; what is no JSON becomes a text', () => {
  const exact = Buffer.from('{ "b":1,"a":"\\u00e9 é \ud800","b":2 }');
  assert.equal(recordOfLine(exact), { bytes: exact, is_cut: false });
  for (const torn of ['{"type":"user","mess', 'hello', '\u0000']) {
    const { bytes, is_cut } = recordOfLine(Buffer.from(torn));
    assert.equal([JSON.parse(bytes.toString('utf8')), is_cut], [torn, false]);
  }
});

test.run();
