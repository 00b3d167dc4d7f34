/** Is the memory of processes what `npm run soak -- idle` takes it for? */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { growthOf, heldBy, type MemorySample, memoryOf } from '../support/process-memory.ts';

const test = suite('memory of processes');

test('each descendant is found, by what it runs; what one of them holds is its own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-memory-'));
  const script = join(folder, 'holds.mjs');
  writeFileSync(
    script,
    `import { spawn } from 'node:child_process';
     const held = Buffer.alloc(Number(process.argv[2]) * 1_048_576, 1);
     const child = process.argv[3] && spawn(process.execPath, [process.argv[1], process.argv[3]], { stdio: ['pipe', 'inherit', 'inherit'] });
     if (!child) console.log('ready');
     process.stdin.resume().on('end', () => { child?.stdin.end(); setTimeout(() => process.exit(held[0] - 1), 100); });`,
  );
  const child = spawn(process.execPath, [script, '10', '100'], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const found = memoryOf(child.pid ?? 0);
    const name = (text: string) => `${folder.split('/').at(-1)}/holds.mjs ${text}`;
    assert.equal(
      found.map((process) => process.name),
      [name('10 100'), name('100')],
    );
    const [parent, grandchild] = found.map(({ mib }) => mib);
    assert.ok(Math.abs((grandchild ?? 0) - (parent ?? 0) - 90) < 20, `${parent} MiB and ${grandchild} MiB`);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true });
  }
  assert.equal(memoryOf(child.pid ?? 0), []);
});

const sample = (ms: number, held: Record<string, number>): MemorySample => ({
  ms,
  processes: Object.entries(held).map(([name, mib], pid) => ({ pid, name, mib })),
});

test('growth is from the second quarter to the last, by medians; what one sample alone shows does not count', () => {
  const samples = Array.from({ length: 41 }, (_, n) =>
    sample(n * 100, { flat: n === 35 ? 900 : 100, grows: 50 + n, warms: n < 10 ? n * 10 : 100 }),
  );
  assert.equal(growthOf(samples), [
    { name: 'flat', fromMib: 100, toMib: 100 },
    { name: 'grows', fromMib: 65, toMib: 85 },
    { name: 'warms', fromMib: 100, toMib: 100 },
  ]);
});

test('processes of one name count together, and one that comes and goes where it was there', () => {
  const twice = { ms: 0, processes: [1, 2].map((pid) => ({ pid, name: 'twice', mib: 10 })) };
  assert.equal([heldBy('twice', twice), heldBy('other', twice)], [[20], []]);
  const samples = Array.from({ length: 41 }, (_, n) => sample(n * 100, n % 3 === 0 ? { seldom: 7 } : {}));
  assert.equal(growthOf(samples), [{ name: 'seldom', fromMib: 7, toMib: 7 }]);
  const gone = Array.from({ length: 41 }, (_, n) => sample(n * 100, n < 20 ? { gone: 7 } : { other: 1 }));
  assert.equal(growthOf(gone), []);
});

test.run();
