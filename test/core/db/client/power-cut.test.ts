import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type NodeFiles, obeyFsync } from '../../../../core/db/client/power-cut.ts';

const test = suite('power-cut');

/** PGlite's file operations, writing down what reaches the disk in which order. */
function recorded() {
  const seen: string[] = [];
  const note =
    (what: string) =>
    (stream: unknown): undefined => {
      seen.push(`${what} ${(stream as { path?: string }).path ?? ''}`.trim());
    };
  const files: NodeFiles = {
    stream_ops: { write: note('write'), close: note('close'), setattr: note('setattr') },
    node_ops: { rename: note('rename'), unlink: note('unlink'), setattr: note('truncate') },
  };
  const flush = obeyFsync(files, (fd) => seen.push(`flush ${fd}`));
  return { seen, files, flush };
}
const log = { path: '/pglite/data/pg_wal/000000010000000000000001', nfd: 1 };
const table = { path: '/pglite/data/base/5/1259', nfd: 2 };

/** PostgreSQL writes a page from somewhere in its memory. */
const PAGE = 8_192;
const memory = new Int8Array(4 * PAGE).fill(1, PAGE, 2 * PAGE);
const [zeros, page] = [2 * PAGE, PAGE];

test('a commit flushes the log later, and once', () => {
  const { seen, files, flush } = recorded();
  for (let i = 0; i < 3; i += 1) {
    files.stream_ops.write(log, memory, page, PAGE);
    assert.is(files.stream_ops.fsync?.(log), 0);
  }
  assert.not.ok(seen.includes('flush 1'));
  flush();
  flush();
  assert.equal(
    seen.filter((what) => what === 'flush 1'),
    ['flush 1'],
  );
});
test('nothing else changes before the log is on the disk', () => {
  const changes: [string, (files: NodeFiles) => unknown][] = [
    [`write ${table.path}`, (files) => files.stream_ops.write(table, memory, page, PAGE)],
    [`write ${table.path}`, (files) => files.stream_ops.write(table, memory, 2 * PAGE - 1, PAGE)], // one byte of it is none

    ['flush 2', (files) => files.stream_ops.fsync?.(table)],
    [`setattr ${table.path}`, (files) => files.stream_ops.setattr(table)],
    ['truncate', (files) => files.node_ops.setattr({})],
    ['rename', (files) => files.node_ops.rename({})],
    ['unlink', (files) => files.node_ops.unlink({})],
    [`close ${log.path}`, (files) => files.stream_ops.close(log)],
  ];
  for (const [what, change] of changes) {
    const { seen, files } = recorded();
    files.stream_ops.fsync?.(log);
    change(files);
    assert.equal(seen, ['flush 1', what]);
  }
});
test('a table grows by zeros without the log, which the page that is written there waits for', () => {
  const { seen, files } = recorded();
  files.stream_ops.fsync?.(log);
  files.stream_ops.write(table, memory, zeros, PAGE);
  assert.equal(seen, [`write ${table.path}`]);
  files.stream_ops.write(table, memory, page, PAGE);
  assert.equal(seen.slice(1), ['flush 1', `write ${table.path}`]);
});
test('a disk that refuses is told to PostgreSQL', () => {
  const { files } = recorded();
  obeyFsync(files, () => {
    throw new Error('EIO');
  });
  assert.is(files.stream_ops.fsync?.(table), 29);
});
test.run();
