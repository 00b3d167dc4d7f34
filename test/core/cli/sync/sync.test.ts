/** `svc sync` before an ingest listener of the test: what is sent, what is not sent again, and how it ends. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sync } from '../../../../core/cli/sync/sync.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import type { TranscriptVerdict } from '../../../../core/model/transcript-upload.ts';
import { KEPT_TRANSCRIPT, serveIngest } from '../../../ingest/stand.ts';
import type { Json } from '../../../support/read-api.ts';

type Context = { home: string };
const test = suite<Context>('svc sync');

test.before.each(async (context) => {
  context.home = await mkdtemp(join(tmpdir(), 'svc-sync-'));
});
test.after.each(({ home }) => rm(home, { recursive: true }));

const put = async (home: string, path: string, content: string) => {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
};
const jsonLines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

const SESSION = '5d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e';
const PROJECT = '.claude/projects/-home-ada-atlas';
const MAIN = `${PROJECT}/${SESSION}.jsonl`;
const userRecord = (n: number) => ({
  type: 'user',
  sessionId: SESSION,
  uuid: `u${n}`,
  message: { role: 'user', content: `${n}` },
});

type Listener = Awaited<ReturnType<typeof serveIngest>>;
type Run = { args?: Partial<Parameters<typeof sync>[1]>; env?: Record<string, string>; retryForMs?: number };

/** Runs the command; `bodies` are what came, parsed. */
async function run(home: string, address: string, { args = {}, env = {}, retryForMs }: Run = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const io = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
    env,
    cwd: home,
    home,
  };
  const loaded = loadConfig({ flags: { 'ingest.listen': new URL(address).host }, env: {}, cwd: home, home });
  const options = { json: true, dryRun: false, sinceDays: null, evenRecorded: true, isTerminal: false, ...args };
  const code = await sync(loaded, { ...options, ...(retryForMs !== undefined && { retryForMs }) }, io);
  const text = stripVTControlCharacters(out.join(''));
  return { code, text, err: err.join(''), summary: options.json ? (JSON.parse(text) as Json) : null };
}

const bodiesOf = ({ taken }: Listener): Json[] =>
  taken.map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')));
const of = (summary: Json, harness: string) => summary.harnesses.find((one: Json) => one.harness === harness);

const listening = async (use: (listener: Listener) => Promise<void>, verdict?: (n: number) => TranscriptVerdict) => {
  const listener: Listener = await serveIngest({
    installation: () => 'a'.repeat(32),
    appendTranscript: async (body, subject) => {
      listener.taken.push({ body, subject });
      return verdict?.(listener.taken.length) ?? KEPT_TRANSCRIPT;
    },
  });
  try {
    await use(listener);
  } finally {
    await listener.close(0);
  }
};

test('an agent is sent though what stands beside its file was cut when the harness was killed', async ({ home }) => {
  const agent = `${PROJECT}/${SESSION}/subagents/agent-a9b2`;
  await put(home, `${agent}.jsonl`, jsonLines({ ...userRecord(1), agentId: 'a9b2' }));
  await put(home, `${agent}.meta.json`, '{"agentType": "Exp');
  await listening(async (listener) => {
    const { code } = await run(home, listener.address);
    const [{ session, agent_id, agent_type }] = bodiesOf(listener) as [Json];
    assert.equal([code, session.harness_session_id, agent_id, agent_type], [0, SESSION, 'a9b2', undefined]);
  });
});

test("each harness's files are found where it keeps them, and sent under the names that they state", async ({
  home,
}) => {
  await put(home, MAIN, jsonLines(userRecord(1), userRecord(2)));
  await put(home, `${PROJECT}/${SESSION}/subagents/agent-a9b2.jsonl`, jsonLines({ ...userRecord(3), agentId: 'a9b2' }));
  await put(
    home,
    `${PROJECT}/${SESSION}/subagents/agent-a9b2.meta.json`,
    JSON.stringify({ agentType: 'Explore', description: 'Look', toolUseId: 'toolu_1' }),
  );
  await put(home, `${PROJECT}/agent-old1.jsonl`, jsonLines({ type: 'summary' }, { ...userRecord(4), agentId: 'old1' }));
  await put(home, `${PROJECT}/${SESSION}/tool-results/big.jsonl`, 'no transcript');
  await put(home, `${PROJECT}/empty.jsonl`, '');
  const [parent, child] = ['01a1fc52-a152-7cf1-9170-9c2fd0515173', '01a1fc52-a1cc-7c03-b98d-f384124bcdc0'];
  const meta = (id: string) => jsonLines({ type: 'session_meta', payload: { session_id: parent, id } });
  await put(home, `.codex/sessions/2026/11/21/rollout-2026-11-21T04-17-16-${parent}.jsonl`, meta(parent));
  await put(home, `.codex/sessions/2026/11/21/rollout-2026-11-21T04-17-16-${child}.jsonl`, meta(child));
  const old = '01a1fc52-a1cc-7c03-b98d-f38412400000';
  await put(
    home,
    `.codex/archived_sessions/rollout-2025-01-01T00-00-00-${old}.jsonl`,
    jsonLines({ instructions: 'x' }),
  );
  await listening(async (listener) => {
    const { code, summary } = await run(home, listener.address);
    assert.is(code, 0);
    const heads = bodiesOf(listener).map(({ records, ...head }) => ({ ...head, records: records.length }));
    const claude = { session: { harness_id: 'claude', harness_session_id: SESSION } };
    const codex = { session: { harness_id: 'codex', harness_session_id: parent } };
    const spawned = { agent_type: 'Explore', description: 'Look', tool_use_id: 'toolu_1' };
    const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
    assert.equal(
      heads.sort(byText),
      [
        { ...claude, records: 2 },
        { ...claude, agent_id: 'a9b2', ...spawned, records: 1 },
        { ...claude, agent_id: 'old1', records: 2 },
        { ...codex, records: 1 },
        { ...codex, agent_id: child, records: 1 },
        { session: { harness_id: 'codex', harness_session_id: old }, records: 1 },
      ].sort(byText),
    );
    const counts = ({ files, sent, empty, sessions }: Json) => [files, sent, empty, sessions];
    assert.equal(
      [counts(of(summary, 'claude')), counts(of(summary, 'codex'))],
      [
        [4, 3, 1, 1],
        [3, 3, 0, 2],
      ],
    );
  });
});

test('CLAUDE_CONFIG_DIR and CODEX_HOME name the folders', async ({ home }) => {
  await put(home, 'elsewhere/projects/p/s1.jsonl', jsonLines(userRecord(1)));
  await put(home, 'other/sessions/2026/01/01/rollout-x-01a1fc52-a1cc-7c03-b98d-f384124bcdc0.jsonl', jsonLines({}));
  await put(home, MAIN, jsonLines(userRecord(1)));
  await listening(async (listener) => {
    const env = { CLAUDE_CONFIG_DIR: join(home, 'elsewhere'), CODEX_HOME: join(home, 'other') };
    const { summary } = await run(home, listener.address, { env });
    assert.equal([of(summary, 'claude').sent, of(summary, 'codex').sent], [1, 1]);
    assert.ok(bodiesOf(listener).some(({ session }) => session.harness_session_id === 's1'));
  });
});

test('what has not changed is not sent again, what has grown is; lost notes cost another sending', async ({ home }) => {
  const file = await put(home, MAIN, jsonLines(userRecord(1)));
  await put(home, `${PROJECT}/other.jsonl`, jsonLines(userRecord(2)));
  await listening(async (listener) => {
    const counts = async () => {
      const { sent, unchanged } = of((await run(home, listener.address)).summary, 'claude');
      return [sent, unchanged];
    };
    assert.equal(await counts(), [2, 0]);
    assert.equal(await counts(), [0, 2]);
    await appendFile(file, jsonLines(userRecord(3)));
    assert.equal(await counts(), [1, 1]);
    assert.is(bodiesOf(listener).at(-1).records.length, 2);
    await rm(join(home, '.svc/sync'), { recursive: true });
    assert.equal(await counts(), [2, 0]);
    const [notes = ''] = await readdir(join(home, '.svc/sync'));
    await writeFile(join(home, '.svc/sync', notes), '{"version":1,"files":{"cut');
    assert.equal(await counts(), [2, 0]);
  });
  await listening(async (listener) => {
    listener.app.get('/unused', (c) => c.text(''));
    assert.is(
      of((await run(home, listener.address)).summary, 'claude').sent,
      0,
      'the same database at another address',
    );
  });
  const another = await serveIngest({ installation: () => 'b'.repeat(32) });
  assert.is(of((await run(home, another.address)).summary, 'claude').sent, 2, 'another database has none of it');
  await another.close(0);
});

const large = jsonLines(...Array.from({ length: 700 }, (_, n) => ({ ...userRecord(n), text: 'plugh '.repeat(2_000) })));

/** That these parts make up a file, each going on from the one before. */
function isChain(bodies: Json[], file = large) {
  const parts = bodies.sort((one, other) => one.part.from_line - other.part.from_line);
  assert.ok(parts.length > 3);
  assert.is(jsonLines(...parts.flatMap(({ records }) => records)), file);
  let [from_line, prefix]: [number, string | undefined] = [0, undefined];
  for (const [index, { part, records }] of parts.entries()) {
    assert.equal([part.from_line, part.prefix_sha256, part.is_last], [from_line, prefix, index === parts.length - 1]);
    from_line += records.length;
    prefix = part.through_sha256;
  }
}

/** That these parts make up a file, of which each names how many there are. */
function isCounted(bodies: Json[], file = large) {
  const parts = bodies.sort((one, other) => one.part.index - other.part.index);
  assert.is(jsonLines(...parts.flatMap(({ records }) => records)), file);
  const [{ part: first }] = parts;
  for (const [index, { part }] of parts.entries())
    assert.equal([part.index, part.count, part.file_sha256], [index, parts.length, first.file_sha256]);
}

test('of a transcript in several folders the newest file is sent, and the others are counted', async ({ home }) => {
  const agent = (n: number) => ({ ...userRecord(n), isSidechain: true, agentId: 'a1' });
  const files = [
    [`${PROJECT}/${SESSION}.jsonl`, 3, '2026-11-28'],
    [`.claude/projects/-other/${SESSION}.jsonl`, 1, '2026-11-27'],
    [`.config/claude/projects/-home-ada-atlas/${SESSION}.jsonl`, 2, '2026-11-26'],
  ] as const;
  for (const [path, records, day] of files) {
    const lines = Array.from({ length: records }, (_, n) => userRecord(n));
    await utimes(await put(home, path, jsonLines(...lines)), new Date(day), new Date(day));
  }
  await put(home, `${PROJECT}/${SESSION}/subagents/agent-a1.jsonl`, jsonLines(agent(0)));
  const elsewhere = '6d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e';
  const same = { ...agent(0), sessionId: elsewhere };
  await put(home, `${PROJECT}/${elsewhere}/subagents/agent-a1.jsonl`, jsonLines(same)); // of one name, and another session's
  await listening(async (listener) => {
    const dry = await run(home, listener.address, { args: { dryRun: true } });
    assert.is(dry.summary?.would_send.length, 3);
    const { summary } = await run(home, listener.address);
    const { files: found, sent, copies } = of(summary, 'claude');
    assert.equal([found, sent, copies], [5, 3, 2]);
    assert.equal(
      bodiesOf(listener)
        .map(({ records }) => records.length)
        .sort(),
      [1, 1, 3],
    );
    const { text } = await run(home, listener.address, { args: { json: false } });
    assert.match(text, /^Claude Code +5 files: 0 sent, 3 unchanged, 2 older copies left out$/m);
  });
});

test('a large file is sent in parts that make it up, and goes on after an interruption where it was', async ({
  home,
}) => {
  await put(home, MAIN, large);
  let isAway = false;
  await listening(
    async (listener) => {
      isAway = true;
      const failed = await run(home, listener.address, { retryForMs: 50 }).catch((error: Error) => error);
      assert.instance(failed, Error);
      assert.match(String(failed), 'Cannot send the transcripts: the service takes nothing at the moment: no database');
      const before = bodiesOf(listener).filter((_, n) => n < 2);
      isAway = false;
      listener.taken.length = 0;
      const { code, summary } = await run(home, listener.address);
      assert.equal([code, of(summary, 'claude').sent], [0, 1]);
      const after = bodiesOf(listener);
      isChain([...before, ...after]);
    },
    (n) => (isAway && n > 2 ? { kind: 'unavailable', error: 'no database' } : KEPT_TRANSCRIPT),
  );
});

test('of a large file that has grown only the end is sent, of one that was rewritten all of it', async ({ home }) => {
  const file = await put(home, MAIN, large);
  await listening(async (listener) => {
    const sent = async () => {
      listener.taken.length = 0;
      assert.is((await run(home, listener.address)).code, 0);
      return bodiesOf(listener);
    };
    const first = await sent();
    isChain([...first]);
    let grown = large;
    for (let n = 0; n < 3; n++) {
      grown += jsonLines(userRecord(1_000 + n));
      await writeFile(file, grown);
      const tail = await sent();
      assert.is(tail.length, 1);
      isChain([...first.slice(0, -1), ...tail], grown);
    }
    const much = grown + large;
    await writeFile(file, much);
    isChain([...first.slice(0, -1), ...(await sent())], much);
    const rewritten = jsonLines(userRecord(7)) + much;
    await writeFile(file, rewritten);
    isChain(await sent(), rewritten);
    await writeFile(file, jsonLines(userRecord(7)));
    assert.equal(
      (await sent()).map(({ part }) => part),
      [undefined],
    );
  });
});

test('where the service lacks what was sent before the file is sent anew, and to one that knows no such parts in counted ones', async ({
  home,
}) => {
  const file = await put(home, MAIN, large);
  const stored = new Set<string>(); // hashes of beginnings
  let isOld = false;
  const listener: Listener = await serveIngest({
    installation: () => 'a'.repeat(32),
    appendTranscript: async (body, subject) => {
      listener.taken.push({ body, subject });
      const { part } = JSON.parse(Buffer.from(body).toString('utf8')) as Json;
      if ('count' in part) return KEPT_TRANSCRIPT;
      if (isOld) return { kind: 'malformed', error: 'part.index is no whole number' };
      if (part.is_last && !stored.has(part.prefix_sha256)) return { kind: 'incomplete', error: 'it was purged' };
      stored.add(part.through_sha256);
      return KEPT_TRANSCRIPT;
    },
  });
  const grown = async () => {
    listener.taken.length = 0;
    await appendFile(file, jsonLines(userRecord(1_000)));
    assert.is((await run(home, listener.address)).code, 0);
    return bodiesOf(listener);
  };
  isChain(await grown(), await readFile(file, 'utf8'));
  assert.is((await grown()).length, 1);
  stored.clear();
  const [refused, ...anew] = await grown();
  assert.ok(refused.part.is_last);
  isChain(anew, await readFile(file, 'utf8'));
  assert.is((await grown()).length, 1);

  isOld = true;
  for (let n = 0; n < 2; n++) {
    const bodies = await grown();
    isCounted(
      bodies.filter(({ part }) => 'count' in part),
      await readFile(file, 'utf8'),
    );
  }
  isOld = false;
  isChain(await grown(), await readFile(file, 'utf8'));
  assert.is((await grown()).length, 1);
  await listener.close(0);
});

test('a file of a purged session is sent once, and neither refused nor sent in another way', async ({ home }) => {
  const file = await put(home, MAIN, large);
  await listening(
    async (listener) => {
      const { code, summary } = await run(home, listener.address);
      const { sent, purged, refused } = of(summary, 'claude');
      assert.equal([code, sent, purged, refused], [0, 0, 1, []]);
      const uploads = listener.taken.length;
      assert.ok(uploads <= 2, 'a part, and one that is under way meanwhile');
      const { text } = await run(home, listener.address, { args: { json: false } });
      assert.match(text, /^Claude Code +1 file: 0 sent, 1 unchanged$/m);
      assert.is(listener.taken.length, uploads);
      await appendFile(file, jsonLines(userRecord(1_000)));
      const again = await run(home, listener.address, { args: { json: false } });
      assert.match(again.text, /^Claude Code +1 file: 0 sent, 0 unchanged, 1 of purged sessions left out$/m);
    },
    () => ({ kind: 'purged', error: 'its session was purged' }),
  );
});

test('an upload that cannot be taken at the moment is tried again', async ({ home }) => {
  await put(home, MAIN, jsonLines(userRecord(1)));
  await listening(
    async (listener) => {
      const { code, summary } = await run(home, listener.address);
      assert.equal([code, of(summary, 'claude').sent, listener.taken.length], [0, 1, 2]);
    },
    (n) => (n === 1 ? { kind: 'unavailable', error: 'busy' } : KEPT_TRANSCRIPT),
  );
});

test('a file that the service refuses is named with the reason, and the others are sent; status 1', async ({
  home,
}) => {
  await put(home, MAIN, jsonLines(userRecord(1)));
  await put(home, `${PROJECT}/other.jsonl`, jsonLines(userRecord(2)));
  await listening(
    async (listener) => {
      const { code, text } = await run(home, listener.address, { args: { json: false } });
      assert.is(code, 1);
      assert.match(text, /^Claude Code +2 files: 1 sent \(1 session, \S+ \S+\), 0 unchanged, 1 not sent$/m);
      assert.match(text, /^not sent {2}\/.*\.jsonl: it is full$/m);
      assert.match(text, /^Codex +no transcripts in \/.*sessions/m);
      assert.match(text, /^Sent 1 file of 1 session/m);
    },
    (n) => (n === 1 ? { kind: 'malformed', error: 'it is full' } : KEPT_TRANSCRIPT),
  );
});

test('lines that are no JSON are sent as texts', async ({ home }) => {
  await put(home, MAIN, `${jsonLines(userRecord(1))}\nnot json\n{"torn`);
  await listening(async (listener) => {
    await run(home, listener.address);
    assert.equal(bodiesOf(listener)[0].records, [userRecord(1), 'not json', '{"torn']);
  });
});

test('only files of so many days; a dry run lists them and sends nothing', async ({ home }) => {
  const old = await put(home, MAIN, jsonLines(userRecord(1)));
  const young = await put(home, `${PROJECT}/young.jsonl`, jsonLines(userRecord(2)));
  await utimes(old, new Date(Date.now() - 3 * 86_400_000), new Date(Date.now() - 3 * 86_400_000));
  await listening(async (listener) => {
    const dry = await run(home, listener.address, { args: { sinceDays: 2, dryRun: true } });
    assert.equal(
      dry.summary.would_send.map(({ path }: Json) => path),
      [young],
    );
    assert.is(listener.taken.length, 0);
    const { summary } = await run(home, listener.address, { args: { sinceDays: 2 } });
    assert.equal([of(summary, 'claude').files, of(summary, 'claude').sent], [1, 1]);
    const all = await run(home, listener.address);
    assert.equal([of(all.summary, 'claude').sent, of(all.summary, 'claude').unchanged], [1, 1]);
  });
});

test('a file whose time is before 1970 is sent, once', async ({ home }) => {
  const file = await put(home, MAIN, jsonLines(userRecord(1)));
  await utimes(file, new Date('1969-07-20'), new Date('1969-07-20'));
  await listening(async (listener) => {
    const counts = ({ summary }: { summary: Json }) => [of(summary, 'claude').sent, of(summary, 'claude').unchanged];
    assert.equal(counts(await run(home, listener.address)), [1, 0]);
    assert.equal(counts(await run(home, listener.address)), [0, 1]);
    await appendFile(file, jsonLines(userRecord(2)));
    assert.equal(counts(await run(home, listener.address)), [1, 0]);
  });
});

test('nobody at the address, and somebody else there: nothing is sent, and the message says what to do', async ({
  home,
}) => {
  await put(home, MAIN, jsonLines(userRecord(1)));
  const reason = async (address: string) => String(await run(home, address).catch((error: Error) => error));
  let methods = '';
  const other = createServer((request, response) => {
    methods += `${request.method} `;
    response.end('{"status":"ok"}');
  }).listen(0, '127.0.0.1');
  await new Promise((ready) => other.once('listening', ready));
  const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  assert.match(await reason(address), `another program answers at ${address}; say where it is with --ingest-listen`);
  assert.is(methods, 'GET ');
  other.closeAllConnections();
  await new Promise((closed) => other.close(closed));
  assert.match(await reason(address), `nobody listens at ${address}; 'svc serve' starts one`);
});

test.run();
