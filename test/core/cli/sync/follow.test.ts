/** Following a transcript that grows, before an ingest listener of the test. */
import { appendFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { followTranscripts } from '../../../../core/cli/sync/follow.ts';
import { KEPT_TRANSCRIPT, serveIngest } from '../../../ingest/stand.ts';
import { freePort } from '../../../support/free-port.ts';
import type { Json } from '../../../support/read-api.ts';
import { eventually } from '../../../support/serve.ts';

type Context = { home: string; listener: Awaited<ReturnType<typeof serveIngest>> };
const test = suite<Context>('following transcripts');

test.before.each(async (context) => {
  context.home = await mkdtemp(join(tmpdir(), 'svc-follow-'));
  context.listener = await serveIngest({ installation: () => 'a'.repeat(32) });
});
test.after.each(async ({ home, listener }) => {
  await listener.close(0);
  await rm(home, { recursive: true });
});

const line = (n: number) => `${JSON.stringify({ type: 'user', uuid: `u${n}` })}\n`;
const projectIn = async (home: string) => {
  const folder = join(home, '.claude/projects/p');
  await mkdir(folder, { recursive: true });
  return folder;
};
const follow = ({ home, listener }: Context, more: Partial<Parameters<typeof followTranscripts>[0]> = {}) =>
  followTranscripts({
    ...{ harness: 'claude', since: Date.now() - 60_000, address: listener.address, folder: join(home, '.svc') },
    ...{ places: { env: {}, home }, pollMs: 200, ...more },
  });
const uploads = ({ listener }: Context): [string, number][] =>
  listener.taken.map(({ body }) => {
    const { session, records } = JSON.parse(Buffer.from(body).toString('utf8')) as Json;
    return [session.harness_session_id, records.length];
  });

test('what is written is sent soon, once, and the rest at the end; files of before are left alone', async (context) => {
  const folder = await projectIn(context.home);
  const before = join(folder, 'before.jsonl');
  await writeFile(before, line(0));
  await utimes(before, 1_000_000, 1_000_000);
  const following = follow(context);
  const file = join(folder, 'now.jsonl');
  await writeFile(file, line(1));
  await eventually('the first upload', async () => uploads(context).length === 1, 20_000);
  await appendFile(file, line(2));
  await eventually('the second upload', async () => uploads(context).length === 2, 20_000);
  await new Promise((passed) => setTimeout(passed, 700));
  assert.equal(uploads(context), [
    ['now', 1],
    ['now', 2],
  ]);
  await appendFile(file, line(3));
  assert.equal(await following.stop(), { files: 1, sessions: ['now'] });
  assert.equal(uploads(context).at(-1), ['now', 3]);
  const count = uploads(context).length;
  await appendFile(file, line(4));
  await new Promise((passed) => setTimeout(passed, 500));
  assert.is(uploads(context).length, count, 'it has ended');
});

test('a folder that does not exist yet is found once it does; only wanted files are sent', async (context) => {
  const following = follow(context, { isWanted: (path) => path.endsWith('/wanted.jsonl') });
  await new Promise((passed) => setTimeout(passed, 300));
  const folder = await projectIn(context.home);
  await writeFile(join(folder, 'other.jsonl'), line(1));
  await writeFile(join(folder, 'wanted.jsonl'), line(1));
  await eventually('its upload', async () => uploads(context).length === 1, 20_000);
  await following.stop();
  assert.equal(uploads(context), [['wanted', 1]]);
});

test('a service that is not there is reported once, and stopping does not wait for it', async (context) => {
  const folder = await projectIn(context.home);
  await writeFile(join(folder, 'now.jsonl'), line(1));
  const problems: string[] = [];
  const onProblem = (message: string) => void problems.push(message);
  const following = follow(context, { address: 'http://127.0.0.1:9', onProblem });
  await eventually('the report', async () => problems.length > 0, 20_000);
  await new Promise((passed) => setTimeout(passed, 600));
  const startedAt = performance.now();
  assert.equal(await following.stop(1_000), { files: 0, sessions: [] });
  assert.ok(performance.now() - startedAt < 4_000);
  assert.is(problems.length, 1);
  assert.match(problems[0] ?? '', 'nobody listens at http://127.0.0.1:9');
});

test('a service that comes up a moment later is no problem; of one that was away for longer, both are reported', async (context) => {
  const folder = await projectIn(context.home);
  await writeFile(join(folder, 'now.jsonl'), line(1));
  const port = await freePort();
  for (const [reportAfterMs, expected] of [
    [60_000, []],
    [
      0,
      [
        /^Cannot find the service: nobody listens|^Cannot send the transcripts: nobody listens/,
        /^The transcripts were sent afterwards$/,
      ],
    ],
  ] as const) {
    const problems: string[] = [];
    const following = follow(context, {
      ...{ address: `http://127.0.0.1:${port}`, reportAfterMs, folder: join(context.home, `.svc-${reportAfterMs}`) },
      onProblem: (message) => void problems.push(message),
    });
    await new Promise((passed) => setTimeout(passed, 700));
    const late = await serveIngest({ installation: () => 'b'.repeat(32) }, port);
    await eventually('the upload', async () => late.taken.length === 1, 20_000);
    assert.equal(await following.stop(), { files: 1, sessions: ['now'] });
    await late.close(0);
    assert.is(problems.length, expected.length, problems.join('; '));
    for (const [i, pattern] of expected.entries()) assert.match(problems[i] ?? '', pattern);
  }
});

test('while one file fails, others that are sent are not what it was: it is once that file is', async (context) => {
  const folder = await projectIn(context.home);
  let isWell = false;
  const stored: string[] = [];
  const failing = await serveIngest({
    installation: () => 'c'.repeat(32),
    appendTranscript: async (body) => {
      const { session } = JSON.parse(Buffer.from(body).toString('utf8')) as Json;
      const id: string = session.harness_session_id;
      if (id === 'failing' && !isWell) return { kind: 'unavailable', error: 'away' };
      stored.push(id);
      return KEPT_TRANSCRIPT;
    },
  });
  const problems: string[] = [];
  const onProblem = (message: string) => void problems.push(message);
  for (const name of ['before', 'failing', 'later']) await writeFile(join(folder, `${name}.jsonl`), line(1));
  const following = follow(context, { address: failing.address, reportAfterMs: 0, onProblem });
  await eventually('the report', async () => problems.length > 0, 20_000);
  const others = () => stored.filter((id) => id !== 'failing').length;
  for (let n = 2; n < 4; n++) {
    const before = others();
    for (const name of ['before', 'later']) await appendFile(join(folder, `${name}.jsonl`), line(n));
    await eventually('another upload', async () => others() > before, 20_000);
  }
  const whileFailing = [...problems];
  isWell = true;
  await eventually('the upload', async () => stored.includes('failing'), 20_000);
  await following.stop();
  await failing.close(0);
  assert.not(whileFailing.includes('The transcripts were sent afterwards'), whileFailing.join('; '));
  assert.is(problems.at(-1), 'The transcripts were sent afterwards');
});

test('a harness whose transcripts are not known is not followed', async (context) => {
  assert.equal(await follow(context, { harness: 'unknown' }).stop(), { files: 0, sessions: [] });
});

test.run();
