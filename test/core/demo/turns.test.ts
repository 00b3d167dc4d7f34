/** The demo's turns are what real clients send and real providers answer: every reader of ours reads them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readingMemory } from '../../../core/call/memory.ts';
import { openRequest } from '../../../core/call/open-request.ts';
import { readCall } from '../../../core/call/read-call.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { type DemoTurn, demoTurns } from '../../../core/demo/turns.ts';
import { IngestTurn } from '../../../core/engine/ingest/ingest-turn.ts';
import { formatOf } from '../../../core/provider/formats.ts';

const test = suite('demoTurns');

const NOW = new Date('2026-11-21T12:00:00Z');
const turns = demoTurns(NOW);

type Meta = {
  request_id: string;
  method: string;
  path: string;
  content_type: string;
  upstream_status: number;
  ts_request: string;
  captured_at: string;
  elapsed_seconds: number;
};
const metaOf = (turn: DemoTurn) => turn.meta as Meta;
const sessionOf = (turn: DemoTurn) => metaOf(turn).request_id.replace(/^demo-|-\d+$/g, '');
const answerOf = ({ raw_response }: DemoTurn) => Buffer.from(raw_response ?? '', 'base64');

const sessions = [...new Set(turns.map(sessionOf))].map((name): [string, DemoTurn[]] => [
  name,
  turns.filter((turn) => sessionOf(turn) === name),
]);
/** The sessions after the seventh are runs, with threads and calls beside the conversation. */
const [scripted, runs] = [sessions.slice(0, 7), sessions.slice(7)];
const pairs = (own: readonly DemoTurn[]) => own.slice(1).map((turn, i): [DemoTurn, DemoTurn] => [own[i] ?? turn, turn]);
const neighbours = scripted.flatMap(([, own]) => pairs(own));
const runTurns = runs.flatMap(([, own]) => own);
/** The calls of a thread, without those beside it. */
const threads = runs.flatMap(([, own]) => {
  const threadOf = (turn: DemoTurn) => (turn.meta as { thread_id?: string }).thread_id ?? '';
  const main = own.filter((turn) => (turn.request as { tools?: unknown[] }).tools);
  return [...new Set(main.map(threadOf))].map((id) => main.filter((turn) => threadOf(turn) === id));
});

const memory = readingMemory();
function read(turn: DemoTurn) {
  const { request_id, method, path, content_type, ts_request, captured_at } = metaOf(turn);
  const body = Buffer.from(JSON.stringify(turn.request));
  const format = formatOf(method, path.split('?')[0] ?? '');
  return readCall(
    builtIn,
    {
      format: format?.id ?? null,
      call_id: request_id,
      harness_id: turn.session?.harness_id ?? 'unknown',
      provider: turn.provider,
      agent_name: turn.agent_name ?? '',
      project: '',
      requested_at: ts_request,
      last_byte_at: captured_at,
    },
    {
      request: openRequest(format, { bytes: body, headers: [] }),
      answer: { bytes: answerOf(turn), headers: [['content-type', content_type]] },
    },
    memory,
  );
}

test('there are seven scripted sessions by all three providers, and five runs of an agent', () => {
  assert.equal(
    sessions.map(([name, own]) => [name, own.length, own[0]?.provider]),
    [
      ['notification-memory', 5, 'anthropic'],
      ['passenger-import', 9, 'anthropic'],
      ['card-layout', 4, 'openai'],
      ['slow-departures', 7, 'openai'],
      ['release-rollback', 8, 'openai'],
      ['weather-retry', 5, 'ollama'],
      ['flaky-midnight-test', 12, 'anthropic'],
      ['summer-timetable', 16, 'anthropic'],
      ['night-run', 19, 'anthropic'],
      ['night-run-fares-only', 3, 'anthropic'],
      ['fare-report', 8, 'anthropic'],
      ['strange-page', 2, 'anthropic'],
    ],
  );
});

test('each turn is a body that the ingest contract describes, and is marked as demo', () => {
  for (const turn of turns) {
    assert.equal(IngestTurn.parse(turn), turn);
    assert.equal(turn.session?.harness_metadata, { demo: true });
  }
});

test('ids are fixed, and no two are the same; only times follow the clock', () => {
  const ids = turns.map((turn) => metaOf(turn).request_id);
  assert.is(new Set(ids).size, ids.length);
  const timeless = (turn: DemoTurn) => {
    const { ts_request: _, captured_at: __, ...meta } = metaOf(turn);
    return {
      ...turn,
      meta,
      raw_response: answerOf(turn)
        .toString()
        .replace(/"created(_at)?":("[^"]+"|\d+)/g, ''),
    };
  };
  assert.equal(demoTurns(new Date('2027-03-01T08:15:30Z')).map(timeless), turns.map(timeless));
});

test('calls lie in the last two days, one after the other, the last at least ten minutes ago', () => {
  for (const turn of turns) {
    const { ts_request, captured_at, elapsed_seconds } = metaOf(turn);
    assert.is(Date.parse(captured_at) - Date.parse(ts_request), Math.round(elapsed_seconds * 1000));
    assert.ok(Date.parse(ts_request) > NOW.getTime() - 48 * 3_600_000);
    assert.ok(Date.parse(captured_at) < NOW.getTime() - 600_000);
  }
  for (const [before, after] of [...neighbours, ...threads.flatMap(pairs)])
    assert.ok(metaOf(after).ts_request >= metaOf(before).captured_at, metaOf(after).request_id);
});

/** Its connection broke in the middle of the answer. */
const CUT = 'demo-night-run-18';

test('every request and every answer can be read, to its end but for one that was cut off', () => {
  for (const turn of turns) {
    const { unreadable, answer_unreadable, reply, call } = read(turn);
    const { request_id, upstream_status } = metaOf(turn);
    const isCut = request_id === CUT;
    assert.equal([unreadable, answer_unreadable, reply?.complete], [null, null, !isCut], request_id);
    assert.is(reply?.error === null, upstream_status === 200, request_id);
    assert.ok(call.stream && call.model !== '', request_id);
    if (upstream_status === 200) assert.is(reply?.model, call.model, request_id);
  }
});

test('an answer comes back in the next request as the same node of the conversation', () => {
  for (const [before, after] of [...neighbours, ...threads.flatMap(pairs)]) {
    const { answer, call } = read(before);
    if (answer === null || metaOf(before).request_id === CUT || call.kind === 'offshoot:compaction') continue; // not sent back
    const hashes = read(after).messages.map(({ node_hash }) => node_hash);
    assert.ok(hashes.includes(answer.node_hash), metaOf(after).request_id);
  }
});

test('every tool call has its result in the next request', () => {
  const results = (turn: DemoTurn) => {
    const { method, path } = metaOf(turn);
    const format = formatOf(method, path.split('?')[0] ?? '');
    const { messages, input } = turn.request as { messages?: unknown[]; input?: unknown[] };
    return (messages ?? input ?? []).flatMap((element) => format?.message(element).content ?? []);
  };
  let tools = 0;
  for (const [before, after] of neighbours) {
    const toolUses = read(before).reply?.content.filter(({ type }) => type === 'tool_use') ?? [];
    const found = results(after).filter(({ type }) => type === 'tool_result');
    tools += toolUses.length;
    for (const { tool_use_id } of toolUses)
      assert.ok(
        found.some((result) => result.tool_result_id === tool_use_id && result.tool_output),
        `${metaOf(after).request_id}: ${tool_use_id}`,
      );
  }
  assert.is(tools, 39);
  for (const [name, own] of scripted) {
    const last = own.at(-1);
    assert.not.ok(last && read(last).reply?.content.some(({ type }) => type === 'tool_use'), name);
  }
});

test('what was refused as overloaded is asked again as it was', () => {
  const at = turns.findIndex((turn) => metaOf(turn).upstream_status === 529);
  assert.is(read(turns[at] as DemoTurn).reply?.error?.type, 'overloaded_error');
  assert.equal(turns[at + 1]?.request, turns[at]?.request);
  assert.is(metaOf(turns[at + 1] as DemoTurn).upstream_status, 200);
});

test('all models but one have a price', () => {
  const unpriced = turns.map(read).filter(({ reply, cost_usd }) => reply?.usage && cost_usd === null);
  assert.equal([...new Set(unpriced.map(({ model }) => model))], ['qwen2.5-coder:14b']);
});

test('what is read from a cache grows with the conversation, and never exceeds it', () => {
  for (const [before, after] of neighbours) {
    const [earlier, later] = [read(before).reply?.usage, read(after).reply?.usage];
    if (!earlier || !later) continue;
    assert.ok(later.input_tokens > earlier.input_tokens && later.cache_read_tokens <= earlier.input_tokens);
    if (before.provider === 'anthropic') assert.is(later.cache_read_tokens, earlier.input_tokens);
  }
});

test('a run has sub-agents side by side and one below another, checks that allow and block, a title and a picture', () => {
  const own = runTurns.filter((turn) => sessionOf(turn) === 'night-run');
  const kinds = own.map((turn) => read(turn).call.kind);
  assert.is(kinds.filter((kind) => kind === 'offshoot:permission-check:stage1').length, 2);
  assert.is(kinds.filter((kind) => kind === 'offshoot:title-gen').length, 1);
  assert.equal([...new Set(own.map((turn) => (turn.meta as { thread_id?: string }).thread_id ?? ''))].sort(), [
    '',
    'agent-fares',
    'agent-page',
    'agent-tariff',
  ]);
  const spans = (id: string) =>
    own.filter((turn) => (turn.meta as { thread_id?: string }).thread_id === id).map(metaOf);
  const [page, fares] = [spans('agent-page'), spans('agent-fares')];
  assert.ok(
    (page[0]?.ts_request ?? '') < (fares.at(-1)?.captured_at ?? '') &&
      (fares[0]?.ts_request ?? '') < (page.at(-1)?.captured_at ?? ''),
  );
  assert.ok(own.some((turn) => JSON.stringify(turn.request).includes('"media_type":"image/png"')));
});

test('a compaction loses what was forbidden, and the agent then does it', () => {
  const own = runTurns.filter((turn) => sessionOf(turn) === 'summer-timetable');
  const at = own.findIndex((turn) => read(turn).call.kind === 'offshoot:compaction');
  const words = (turn: DemoTurn | undefined) =>
    JSON.stringify((turn?.request as { messages?: unknown })?.messages ?? '');
  assert.ok(at > 0);
  assert.match(words(own[at]), 'Never touch migrations/');
  assert.not.match(words(own[at + 1]), 'Never touch migrations/');
  const edits = read(own[at + 1] as DemoTurn).reply?.content.filter(({ tool_name }) => tool_name === 'Edit') ?? [];
  assert.match(JSON.stringify(edits), 'migrations/0012');
});

test('tokens of a run stand in its bytes, and each broken cache has its cause in them', () => {
  for (const thread of threads)
    for (const turn of thread) {
      const { usage } = read(turn).reply ?? {};
      const bytes = JSON.stringify(turn.request).length;
      if (usage) assert.ok(usage.input_tokens > bytes / 5 && usage.input_tokens < bytes / 3.5, metaOf(turn).request_id);
    }
  const own = runTurns.filter((turn) => sessionOf(turn) === 'fare-report');
  const broken = pairs(own).filter(([, after]) => read(after).reply?.usage?.cache_read_tokens === 0);
  const causes = broken.map(([before, after]) => {
    const [one, other] = [before.request, after.request] as [Record<string, unknown>, Record<string, unknown>];
    if (one.model !== other.model) return 'model';
    if (JSON.stringify(one.tools) !== JSON.stringify(other.tools)) return 'tools';
    return Date.parse(metaOf(after).ts_request) - Date.parse(metaOf(before).ts_request) > 300_000 ? 'expired' : '';
  });
  assert.equal(causes, ['tools', 'expired', 'model']);
});

test.run();
