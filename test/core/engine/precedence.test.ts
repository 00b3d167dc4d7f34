/** Turns are stored before anything is derived, where both use one connection. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPrecedence } from '../../../core/engine/precedence.ts';

const test = suite('precedence');

/** Work that ends when it is told to, and when it began and ended. */
function work(name: string, seen: string[]) {
  let end = () => {};
  const ended = new Promise<void>((done) => {
    end = done;
  });
  const run = async () => {
    seen.push(`${name} begins`);
    await ended;
    seen.push(`${name} ends`);
  };
  return { run, end };
}

const settled = () => new Promise((done) => setTimeout(done, 5));

test('on one connection no commit begins while a batch of turns is being stored, and there is one commit at a time', async () => {
  const { storing, committing } = openPrecedence({ kind: 'embedded' });
  const seen: string[] = [];
  const [batch, one, other] = [work('batch', seen), work('one', seen), work('other', seen)];
  const all = [storing(batch.run), committing(one.run), committing(other.run)];
  await settled();
  assert.equal(seen, ['batch begins']);
  batch.end();
  await settled();
  assert.equal(seen.slice(1), ['batch ends', 'one begins']);
  one.end();
  await settled();
  other.end();
  await Promise.all(all);
  assert.equal(seen.slice(3), ['one ends', 'other begins', 'other ends']);
});

test('a batch never waits for a commit, nor a commit for batches that came after it, and one that fails stops no other', async () => {
  const { storing, committing } = openPrecedence({ kind: 'embedded' });
  const seen: string[] = [];
  const failing = committing(() => Promise.reject(new Error('lost')));
  const [commit, batch] = [work('commit', seen), work('batch', seen)];
  const committed = committing(commit.run);
  assert.is(await failing.catch((error: Error) => error.message), 'lost');
  await settled();
  const stored = storing(batch.run);
  await settled();
  assert.equal(seen, ['commit begins', 'batch begins']);
  commit.end();
  batch.end();
  await Promise.all([committed, stored]);
});

test('on a server everything runs at once', async () => {
  const { storing, committing } = openPrecedence({ kind: 'server' });
  const seen: string[] = [];
  const [batch, commit] = [work('batch', seen), work('commit', seen)];
  const all = [storing(batch.run), committing(commit.run)];
  assert.equal(seen, ['batch begins', 'commit begins']);
  batch.end();
  commit.end();
  await Promise.all(all);
});

test.run();
