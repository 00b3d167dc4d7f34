/** GET /v1/sessions/{id}/cache and the `break` of a context, over recorded calls: no verdict contradicts what the provider billed. */
import { gunzipSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { coreTools } from '../../../core/api/mcp/core-tools.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { type CacheBreak, SessionCache } from '../../../core/model/cache-break.ts';
import { CallContext } from '../../../core/model/call-context.ts';
import { recordedJournalCalls, takeIn } from '../../support/captured-calls.ts';
import { corpusBodies } from '../../support/corpus-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { testIngest } from '../../support/ingested-turns.ts';
import { testApi } from '../../support/read-api.ts';

/** A call as the read API shows it, with its times. */
type Seen = { context: CallContext; began: number; ended: number };
type Read = { cache: SessionCache; calls: Seen[] };

databaseSuite('verdicts on recorded calls', (test, database) => {
  let api: ReturnType<typeof testApi> | undefined;
  const read = async (path: string): Promise<unknown> => {
    api ??= testApi({ execute: database().execute });
    const response = await api.request(path);
    assert.is(response.status, 200, path);
    return response.json();
  };

  async function readSession(): Promise<Read> {
    api = undefined; // the numbers of turns begin again with each test, and what was read is remembered by them
    await deriveAll(database());
    const { items } = (await read('/v1/sessions')) as { items: { id: string }[] };
    assert.is(items.length, 1);
    const rows = await database().sql(`
      select raw_turn_id, extract(epoch from requested_at) as began, extract(epoch from last_byte_at) as ended
        from svc.raw_turns where source = 'wire' order by requested_at, raw_turn_id`);
    const calls: Seen[] = [];
    for (const { raw_turn_id, began, ended } of rows) {
      const context = CallContext.parse(await read(`/v1/raw_turns/${raw_turn_id}/context`));
      calls.push({ context, began: Number(began), ended: Number(ended) });
    }
    return { cache: SessionCache.parse(await read(`/v1/sessions/${items[0]?.id}/cache`)), calls };
  }

  /** null: the fixtures are absent. */
  async function claude(change: (calls: JournalCall[]) => JournalCall[] = (calls) => calls): Promise<Read | null> {
    await database().reset();
    const calls = await recordedJournalCalls();
    if (!calls) return null;
    const changed = change(calls);
    await takeIn(database(), changed);
    const seen = await readSession();
    assert.equal(
      seen.calls.map(({ context }) => context.usage?.cache_read_tokens),
      changed.map(billedReads), // as the provider wrote them
    );
    return seen;
  }

  async function codex(change: (turn: string, n: number) => string = (turn) => turn): Promise<Read | null> {
    await database().reset();
    const bodies = corpusBodies();
    if (!bodies) return null;
    const ingest = await testIngest(database());
    for (const body of bodies.turns.map(change)) await ingest.append(new Uint8Array(Buffer.from(body)), null);
    return readSession();
  }

  test('nine calls of Claude Code, which read all that was held: no break', async () => {
    const seen = await claude();
    if (!seen) return;
    assert.is(seen.calls.length, 9);
    assertAgrees(seen);
    assert.equal(seen.cache.breaks, []);
    assert.is(seen.cache.lost_usd, 0);
    assert.equal([seen.cache.calls, seen.cache.truncated], [9, false]);
  });

  test('a session of Codex with sub-agents: no break', async () => {
    const seen = await codex();
    if (!seen) return;
    assert.is(seen.calls.length, 13);
    assertAgrees(seen);
    assert.equal(seen.cache.breaks, []);
  });

  test('the same calls where one had read nothing, and one a little less: a break of the former alone, unexplained', async () => {
    const reads = [undefined, 0, undefined, 36_412]; // of the calls from the fifth on; the eighth lacks 1,000 tokens, too few for a break
    const seen = await claude((calls) =>
      calls.map((call, n) => (reads[n - 4] === undefined ? call : unread(call, reads[n - 4]))),
    );
    if (!seen) return;
    assertAgrees(seen);
    const [found, ...more] = seen.cache.breaks;
    assert.equal([found?.cause, found?.raw_turn_id, more], ['unexplained', seen.calls[5]?.context.raw_turn_id, []]);
    assert.is(found?.expected_tokens, 35_578 + 589); // that the call before had read and written
    assert.ok(Math.abs((found?.lost_usd ?? 0) - (found?.expected_tokens ?? 0) * (6 - 0.3) * 1e-6) < 1e-9);

    const other = await codex((turn, n) =>
      n === 12 ? turn.replace(/"cache_read_input_tokens":\d+/, '"cache_read_input_tokens":0') : turn,
    );
    if (!other) return;
    assertAgrees(other);
    assert.equal(
      other.cache.breaks.map(({ cause, raw_turn_id, expected_tokens }) => [cause, raw_turn_id, expected_tokens]),
      [['unexplained', other.calls[12]?.context.raw_turn_id, 18_560]], // of 18,578, in steps of 128
    );
  });

  test('… where it came 61 minutes later: expired', async () => {
    const seen = await claude((calls) =>
      calls.map((call, n) => (n < 5 ? call : later(n === 5 ? unread(call) : call, 61 * 60_000))),
    );
    if (!seen) return;
    assertAgrees(seen);
    assert.equal(
      seen.cache.breaks.map(({ cause, ground, before }) => [cause, ground, before?.ttl]),
      [['expired', 'clock', '1h']],
    );
  });

  test('… where from then on a tool had another description: tools', async () => {
    const seen = await claude((calls) =>
      calls.map((call, n) => (n < 5 ? call : described(n === 5 ? unread(call) : call))),
    );
    if (!seen) return;
    assertAgrees(seen);
    const [found, ...more] = seen.cache.breaks;
    assert.equal(
      [found?.cause, found?.where?.path, found?.where?.char, more],
      ['tools', 'tools[0].description', 0, []],
    );
    const context = await contextTool(found?.raw_turn_id);
    const { cause, where, char, rewritten_tokens } = context.structured.break as Record<string, unknown>;
    assert.equal([cause, where, char, rewritten_tokens], ['tools', 'tools[0].description', 0, found?.rewritten_tokens]);
    assert.match(
      context.text,
      /^It broke the prompt cache: .*, tools, .*\n {2}at tools\[0\]\.description, character 0$/m,
    );
    assert.is((await contextTool(seen.calls[4]?.context.raw_turn_id)).structured.break, undefined);
  });

  const contextTool = async (raw_turn_id?: number) => {
    const tools = coreTools({ execute: database().execute, now: Date.now, takePlace: async () => () => {} });
    const tool = tools.find(({ name }) => name === 'svc_context');
    if (!tool) throw new Error('There is no svc_context');
    return tool.call({ raw_turn_id }, { signal: new AbortController().signal });
  };
});

/** What a call had left of its prompt for later ones, by its bill alone, and how many of its blocks that is at the most. */
function leftBy({ usage, provider, marks, blocks }: CallContext): { tokens: number; end: number } {
  if (!usage) return { tokens: 0, end: 0 };
  if (provider !== 'anthropic') return { tokens: usage.input_tokens - (usage.input_tokens % 128), end: blocks.length };
  const { cache_read_tokens: read, cache_write_5m_tokens: for5m, cache_write_1h_tokens: for1h } = usage;
  return { tokens: read + for5m + for1h, end: (marks.at(-1)?.block ?? -1) + 1 };
}

const toleranceOf = (tokens: number) => Math.max(1_024, tokens * 0.02);

function assertAgrees({ cache, calls }: Read): void {
  assert.is(cache.verdict, 'judged');
  assert.equal(
    calls.flatMap(({ context }) => context.break ?? []),
    cache.breaks,
    'the contexts show the breaks of the session',
  );
  calls.forEach((call, n) => {
    const earlier = calls.slice(0, n).filter(({ ended }) => ended <= call.began);
    const repeated = earlier.filter(({ context }) => isRepeated(context, call.context)).at(-1);
    if (call.context.break) assertBroke(call.context.break, call, earlier, repeated);
    else if (repeated) {
      const { tokens } = leftBy(repeated.context);
      const read = call.context.usage?.cache_read_tokens ?? 0;
      assert.ok(read >= tokens - toleranceOf(tokens), `call ${n} read ${read} of ${tokens}, and has no break`);
    }
  });
}

/** Whether all that the provider held of the earlier prompt is sent again as the beginning of the later one, to the same model. */
function isRepeated(earlier: CallContext, later: CallContext): boolean {
  const { end } = leftBy(earlier);
  return (
    end > 0 &&
    earlier.model === later.model &&
    earlier.blocks.slice(0, end).every(({ id }, n) => id === later.blocks[n]?.id)
  );
}

function assertBroke(found: CacheBreak, { context, began }: Seen, earlier: Seen[], repeated: Seen | undefined): void {
  const { usage, raw_turn_id } = context;
  assert.ok(usage, `call ${raw_turn_id} was billed`);
  if (!usage) return;
  assert.is(found.raw_turn_id, raw_turn_id);
  assert.is(found.read_tokens, usage.cache_read_tokens);
  assert.is(found.rewritten_tokens, found.expected_tokens - found.read_tokens);
  assert.ok(found.rewritten_tokens <= usage.input_tokens - usage.cache_read_tokens, 'no more than was not read');
  assert.ok(found.lost_usd !== null && usage.cost_usd !== null);
  assert.ok((found.lost_usd ?? 0) > 0 && (found.lost_usd ?? 0) <= (usage.cost_usd ?? 0), 'no more than it cost');
  const most = Math.max(...earlier.map((one) => leftBy(one.context).tokens));
  assert.ok(found.expected_tokens <= most, 'no more than an earlier call had left');
  assert.ok(usage.cache_read_tokens < most - toleranceOf(found.expected_tokens), 'less was read than was there');
  const isPlain = found.cause === 'unexplained' || found.cause === 'expired';
  assert.is(isPlain, repeated !== undefined, 'only where the prompt that was held is sent again');
  if (!repeated || !isPlain) return;
  assert.is(found.before?.raw_turn_id, repeated.context.raw_turn_id);
  const isOver = began - repeated.began > (found.before?.ttl === '5m' ? 300 : 3_600);
  assert.is(found.cause === 'expired', isOver, 'expired by the clock alone');
  assert.ok(found.where === null && context.parameters.every(({ same }) => same), 'nothing else differs');
}

const billedReads = ({ response }: JournalCall): number =>
  Number(/"cache_read_input_tokens":(\d+)/.exec(streamOf(response))?.[1]);

const streamOf = (response: Uint8Array): string => gunzipSync(response).toString();

/** The call as it had been billed if it had read so little, and written the rest. */
function unread(call: JournalCall, tokens = 0): JournalCall {
  const stream = streamOf(call.response);
  const count = (name: string) => Number(new RegExp(`"${name}":(\\d+)`).exec(stream)?.[1]);
  const written = count('cache_read_input_tokens') + count('cache_creation_input_tokens') - tokens;
  const response = gzipSync(
    stream
      .replace(/"cache_read_input_tokens":\d+/g, `"cache_read_input_tokens":${tokens}`)
      .replace(/"cache_creation_input_tokens":\d+/g, `"cache_creation_input_tokens":${written}`)
      .replace(/"ephemeral_1h_input_tokens":\d+/g, `"ephemeral_1h_input_tokens":${written}`),
  );
  return { ...call, response };
}

function later(call: JournalCall, ms: number): JournalCall {
  const moved = (at: string) => new Date(Date.parse(at) + ms).toISOString().replace('Z', '000Z');
  const { opened, responseHead: answered, closed } = call;
  return {
    ...call,
    opened: { ...opened, requested_at: moved(opened.requested_at) },
    responseHead: answered && { ...answered, first_byte_at: moved(answered.first_byte_at) },
    closed: closed && { ...closed, last_byte_at: moved(closed.last_byte_at ?? opened.requested_at) },
  };
}

function described(call: JournalCall): JournalCall {
  const text = Buffer.from(call.request).toString();
  const body = JSON.parse(text) as { tools: { description: string }[] };
  const [first] = body.tools;
  if (first) first.description = `! ${first.description}`;
  return { ...call, request: Buffer.from(JSON.stringify(body)) };
}
