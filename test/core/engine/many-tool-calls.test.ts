/** One answer with tens of thousands of tool calls, in each format: stored whole, shown in part, and no obstacle to other turns. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../core/call/reader.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import type { Database, OperationArgs } from '../../../core/db/database.ts';
import { deriveSession } from '../../../core/engine/derive/derive-session.ts';
import type { FormatId } from '../../../core/provider/formats.ts';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { testApi } from '../../support/read-api.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const events = (payloads: readonly object[]): string =>
  payloads.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const command = (n: number): string => JSON.stringify({ command: `ls ${n}` });

type Stream = { format: FormatId; type: string; count: number; request: object; answer(count: number): string };

const streams: Stream[] = [
  {
    format: 'anthropic.messages',
    type: 'text/event-stream',
    count: 20_000,
    request: { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'List everything' }] },
    answer: (count) =>
      events([
        { type: 'message_start', message: { id: 'msg_1', model: 'm', role: 'assistant', content: [], usage: {} } },
        ...range(count).flatMap((index) => [
          {
            type: 'content_block_start',
            index,
            content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'Bash', input: {} },
          },
          {
            type: 'content_block_delta',
            index,
            delta: { type: 'input_json_delta', partial_json: command(index) },
          },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
        { type: 'message_stop' },
      ]),
  },
  {
    format: 'openai.chat',
    type: 'text/event-stream',
    count: 5_000,
    request: { model: 'm', stream: true, messages: [{ role: 'user', content: 'List everything' }] },
    answer: (count) =>
      events([
        ...range(count).map((index) => {
          const call = { index, id: `call_${index}`, function: { name: 'Bash', arguments: command(index) } };
          return { id: 'c', model: 'm', choices: [{ index: 0, delta: { tool_calls: [call] } }] };
        }),
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      ]),
  },
  {
    format: 'openai.responses',
    type: 'text/event-stream',
    count: 5_000,
    request: { model: 'm', stream: true, input: [{ role: 'user', content: 'List everything' }] },
    answer: (count) =>
      events([
        { type: 'response.created', response: { id: 'resp_1', model: 'm', object: 'response', output: [] } },
        ...range(count).map((n) => ({
          type: 'response.output_item.done',
          output_index: n,
          item: { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: 'Bash', arguments: command(n) },
        })),
        { type: 'response.completed', response: { id: 'resp_1', model: 'm', status: 'completed' } },
      ]),
  },
  {
    format: 'ollama.chat',
    type: 'application/x-ndjson',
    count: 5_000,
    request: { model: 'm', messages: [{ role: 'user', content: 'List everything' }] },
    answer: (count) =>
      [
        ...range(count).map((n) => ({
          model: 'm',
          done: false,
          message: { role: 'assistant', content: '', tool_calls: [{ function: { name: 'Bash', arguments: { n } } }] },
        })),
        { model: 'm', done: true, done_reason: 'stop', message: { role: 'assistant', content: '' } },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
  },
];

type CallInput = { n: number; session: string; format: FormatId; type?: string; request: object; response: string };

function call({ n, session, format, type = 'application/json', request, response }: CallInput): JournalCall {
  const made = capturedCall({ n, format, request, response, headers: [['x-svc-harness-session-id', session]] });
  return { ...made, responseHead: made.responseHead && { ...made.responseHead, headers: [['content-type', type]] } };
}

/** A question of a session, answered with tools alone: one block for each. */
const asksFor = (count: number, { n, session }: { n: number; session: string }): JournalCall =>
  call({
    ...{ n, session, format: 'anthropic.messages' },
    request: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: `List everything, ${n}` }] },
    response: JSON.stringify({ id: `msg_${n}`, model: 'm', role: 'assistant', content: toolUses(count) }),
  });

const toolUses = (count: number) =>
  range(count).map((n) => ({ type: 'tool_use', id: `toolu_${n}`, name: 'Bash', input: { command: `ls ${n}` } }));

const derivedRows = async (database: TestDatabase): Promise<string[]> => {
  const rows: string[] = [];
  for (const table of ['traces', 'spans', 'span_links', 'session_rollups'])
    for (const { line } of await database.sql(
      `select (to_jsonb(x) - 'rev')::text as line from svc.${table} x order by 1`,
    ))
      rows.push(`${table} ${line}`);
  return rows;
};

const dangling = (database: TestDatabase) =>
  database.sql(`
    select 1 from svc.span_links l
     where not exists (select from svc.all_spans s where s.trace_id = l.from_trace_id and s.span_id = l.from_span_id)
        or not exists (select from svc.all_spans s where s.trace_id = l.to_trace_id and s.span_id = l.to_span_id)`);

const spansByKind = async (database: TestDatabase, session_id: string) =>
  Object.fromEntries(
    (
      await database.sql('select kind, count(*)::int as n from svc.all_spans where session_id = $1::uuid group by 1', [
        session_id,
      ])
    ).map(({ kind, n }) => [kind, n]),
  );

databaseSuite('many tool calls', (test, database) => {
  for (const { format, type, count, request, answer } of streams)
    test(`${format}: ${count} tool calls in one answer are stored, and derived as 2,000 spans with the rest counted`, async () => {
      await database().reset();
      const response = answer(count);
      const [turn] = await takeIn(database(), [call({ n: 1, session: format, format, type, request, response })]);
      assert.is(turn?.outcome, 'captured');
      await deriveAll(database());
      const session_id = turn?.session_id ?? '';
      assert.equal(await spansByKind(database(), session_id), { agent: 1, llm: 1, tool: 2_000 });
      const [counted] = await database().sql(
        `select s.tool_calls_omitted, t.tool_calls, jsonb_array_length(s.output) as blocks, n.tool_calls as in_node
           from svc.all_spans s join svc.all_traces t using (session_id, trace_id)
           join svc.nodes n on n.session_id = s.session_id and n.role = 'assistant'
          where s.kind = 'llm'`,
      );
      assert.equal(counted, {
        tool_calls_omitted: count - 2_000,
        tool_calls: count,
        blocks: 2_000,
        in_node: count,
      });
    });

  test('10,000 results for 10,000 tool calls feed what is shown, and nothing dangles; derived again it is the same', async () => {
    await database().reset();
    const session = 'results';
    const first = asksFor(10_000, { n: 1, session });
    const next = call({
      ...{ n: 2, session, format: 'anthropic.messages' },
      request: {
        ...{ model: 'm', max_tokens: 9 },
        messages: [
          { role: 'user', content: 'List everything, 1' },
          { role: 'assistant', content: toolUses(10_000) },
          {
            role: 'user',
            content: range(10_000).map((n) => ({ type: 'tool_result', tool_use_id: `toolu_${n}`, content: 'x' })),
          },
        ],
      },
      response: JSON.stringify({ id: 'msg_2', model: 'm', role: 'assistant', content: [{ type: 'text', text: 'ok' }] }),
    });
    const [turn] = await takeIn(database(), [first]);
    await deriveAll(database());
    await takeIn(database(), [next]);
    await deriveAll(database());
    const session_id = turn?.session_id ?? '';
    assert.equal(await spansByKind(database(), session_id), { agent: 1, llm: 2, tool: 2_000 });
    assert.is((await dangling(database())).length, 0);
    const rows = await derivedRows(database());
    await database().execute('markFromScratch', { session_id });
    await deriveAll(database());
    assert.equal(await derivedRows(database()), rows);

    const api = testApi({ execute: database().execute });
    const [shown] = await database().sql(`select trace_id, span_id from svc.all_spans where tool_calls_omitted > 0`);
    const span = await api.request(`/v1/traces/${shown?.trace_id}/spans/${shown?.span_id}`);
    assert.is((await span.json()).tool_calls_omitted, 8_000);
    assert.is((await api.request(`/v1/traces/${shown?.trace_id}`)).status, 200);
  });

  test('answers with 2,000 tool calls each are committed a few thousand rows at a time', async () => {
    await database().reset();
    const session = 'batches';
    const [turn] = await takeIn(
      database(),
      range(6).map((n) => asksFor(2_000, { n: n + 1, session })),
    );
    const rows: number[] = [];
    const execute: Database['execute'] = (name, args, options) => {
      const { commits } = name === 'commitDerive' ? (args as OperationArgs<'commitDerive'>) : { commits: [] };
      for (const { changes } of commits)
        if (changes) rows.push(changes.spans.length + changes.links.length + changes.patches.length);
      return database().execute(name, args, options);
    };
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 60_000 });
    assert.ok(lease && turn);
    const { signal } = new AbortController();
    const { end } = await deriveSession({ database: { ...database(), execute }, reader: builtIn, signal }, lease);
    assert.is(end, 'done');
    assert.ok(Math.max(...rows) <= 12_100, String(rows));
    assert.ok(rows.length >= 2, String(rows));
    assert.equal(await spansByKind(database(), turn.session_id), { agent: 6, llm: 6, tool: 12_000 });
  });

  test('a request of 200,000 messages is kept to the byte, and read as none', async () => {
    await database().reset();
    const request = {
      ...{ model: 'm', max_tokens: 9 },
      messages: range(200_000).map((n) => ({ role: n % 2 ? 'assistant' : 'user', content: 'x' })),
    };
    const response = JSON.stringify({ id: 'msg_1', model: 'm', role: 'assistant', content: [] });
    const captured = call({ n: 1, session: 'messages', format: 'anthropic.messages', request, response });
    const [turn] = await takeIn(database(), [captured]);
    await deriveAll(database());
    const [stored] = await database().sql(
      `select (select count(*)::int from svc.nodes) as nodes, (select count(*)::int from svc.slices) < 10 as few, c.unreadable
         from svc.calls c`,
    );
    assert.equal(stored, {
      nodes: 0,
      few: true,
      unreadable: 'Cannot read the request: it has more than 20000 messages',
    });
    const kept = await database().execute('rawTurnBytes', { raw_turn_id: turn?.raw_turn_id ?? 0 });
    assert.ok(kept && Buffer.from(captured.request).equals(kept.request));
  });
});
