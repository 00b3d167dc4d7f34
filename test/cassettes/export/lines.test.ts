/** A line tells what the read API tells, as far as the views have it: of the demo and of the recorded session, small and large. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { lineSchema } from '../../../cassettes/export/model.ts';
import { Link } from '../../../core/model/link.ts';
import { Session } from '../../../core/model/session.ts';
import { Span } from '../../../core/model/span.ts';
import { Trace } from '../../../core/model/trace.ts';
import { packageRoot } from '../../../core/package-root.ts';
import { recordedJournalCalls } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { demoApi } from '../../support/demo-api.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { schemaCheck } from '../../support/openapi-fuzz/document.ts';
import {
  idOf,
  insertLinks,
  insertRollups,
  insertSessions,
  insertSpans,
  insertTraces,
} from '../../support/projection-rows.ts';
import type { Json } from '../../support/read-api.ts';
import { storeCalls } from '../../support/stored-calls.ts';
import { exporting, linesOf } from './exporting.ts';

const published = JSON.parse(readFileSync(join(packageRoot(), 'cassettes/export/line.schema.json'), 'utf8'));
const { $schema: _, ...schema } = published;

/** The members that a JSON Schema of the read API has, and that of a line has not. */
const lacking = (whole: Json, line: Json): string[] =>
  Object.entries<Json>(whole.properties ?? {}).flatMap(([name, member]) => {
    const ours = line.properties?.[name];
    return ours ? lacking(member, ours) : [name];
  });

/** What the views do not have of a document of the read API is taken out of it. */
function asLine({ session, traces, links }: Json): Json {
  const { live, project, agent_name, fork_of_session_id, raw_turn_count, starred, forks, children, ...rest } = session;
  const { error_count, shape, ...rollup } = rest.rollup;
  return {
    schema: 'svc.export/v1',
    session: { ...rest, rollup },
    traces: traces.map(({ trace: { error_count: _, ...trace }, spans }: Json) => ({
      trace,
      spans: spans.map(({ first_byte_at, price, usage: { cost, ...usage }, ...span }: Json) => ({ ...span, usage })),
    })),
    links,
  };
}

const SMALL = { sessions: 2, rows: 1, storedBytes: 1, traces: 1, spans: 2, links: 2 };

databaseSuite('export lines', (test, database) => {
  let exported: Awaited<ReturnType<typeof exporting>>;
  const documents = new Map<string, Json>();

  test.before(async () => {
    const recorded = await recordedJournalCalls();
    if (recorded) await storeCalls(database(), recorded);
    const api = await demoApi(database());
    await deriveAll(database());
    exported = await exporting(database());
    const page: Json = await (await api.request('/v1/sessions?limit=200')).json();
    for (const { id } of page.items) documents.set(id, await (await api.request(`/v1/sessions/${id}/traces`)).json());
    assert.ok(documents.size > 3);
  });
  test.after(() => exported.close());

  test('a line says of a session, its traces, spans and links what the read API says, but for what the views lack', async () => {
    const lines = await linesOf(await exported.ask('/sessions'));
    assert.equal(
      lines.map(({ session }) => session.id),
      [...documents.keys()],
      'in the order of the session list',
    );
    for (const line of lines) assert.equal(line, asLine(documents.get(line.session.id)), line.session.display_title);
  });

  test('a session that is read page by page reads the same as one that is read at once', async () => {
    const [whole, paged] = [await exported.ask('/sessions'), await exported.ask('/sessions', { limits: SMALL })];
    assert.is(await paged.text(), await whole.text());
  });

  test('so it does with turn headers only', async () => {
    const path = '/sessions?detail=traces';
    const [whole, paged] = [await exported.ask(path), await exported.ask(path, { limits: SMALL })];
    assert.is(await paged.text(), await whole.text());
  });

  test('detail=traces leaves out spans and links, and nothing else', async () => {
    for (const line of await linesOf(await exported.ask('/sessions?detail=traces'))) {
      const { links, ...rest } = asLine(documents.get(line.session.id));
      assert.equal(line, { ...rest, traces: rest.traces.map(({ trace }: Json) => ({ trace })) });
    }
  });

  test('one session alone is the line that it has among all', async () => {
    const lines = (await (await exported.ask('/sessions')).text()).split('\n');
    for (const [n, id] of [...documents.keys()].entries())
      assert.is(await (await exported.ask(`/sessions/${id}`)).text(), `${lines[n]}\n`);
  });

  test('every line is as the published schema says, and has no member that it does not name', async () => {
    const check = schemaCheck({ components: { schemas: {} } });
    for (const detail of ['spans', 'traces'])
      for (const line of await linesOf(await exported.ask(`/sessions?detail=${detail}`)))
        assert.is(check(schema, line), null, line.session.display_title);
    assert.is.not(check(schema, { schema: 'svc.export/v1' }), null);
  });

  test('the README names each member of the read API that a line lacks', () => {
    const readme = readFileSync(join(packageRoot(), 'cassettes/export/README.md'), 'utf8');
    const { session, traces, links } = schema.properties;
    const { trace, spans } = traces.items.properties;
    const pairs = [
      [Session, session],
      [Trace, trace],
      [Span, spans.items],
      [Link, links.items],
    ] as const;
    const missing = pairs.flatMap(([whole, ours]) => lacking(z.toJSONSchema(whole, { io: 'input' }), ours));
    assert.ok(missing.includes('starred') && missing.includes('cost'), missing.join());
    assert.equal(
      missing.filter((name) => !new RegExp(`[\`.]${name}\``).test(readme)),
      [],
    );
  });

  test('line.schema.json is what the model says', () => {
    assert.equal(published, JSON.parse(JSON.stringify(lineSchema())));
  });
});

databaseSuite('export of what is unusual', (test, database) => {
  let exported: Awaited<ReturnType<typeof exporting>>;
  test.before(async () => {
    exported = await exporting(database());
  });
  test.before.each(() => database().reset());
  test.after(() => exported.close());

  const lineOf = async (n: number): Promise<Json> =>
    (await linesOf(await exported.ask(`/sessions/${idOf('session', n)}`)))[0];

  test('a session of which nothing is derived has a line without traces', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    const { session, traces, links } = await lineOf(1);
    assert.equal([session.rollup.status, session.display_title, traces, links], ['unknown', 'harness-sess', [], []]);
  });

  test('text keeps its newlines, quotes and line separators, and one session is one line', async () => {
    const text = 'a\nb "c" \\ \u2028 \u{1f600}';
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    await insertSpans(database(), [{ n: 1, trace: 1, session: 1, output: [{ type: 'text', text }] }]);
    const body = await (await exported.ask(`/sessions/${idOf('session', 1)}`)).text();
    assert.is(body.split('\n').length, 2, 'one line and its end');
    assert.is(JSON.parse(body).traces[0].spans[0].output[0].text, text);
  });

  test('a model without a price is one of the calls of the session itself, not of the history that it began with', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    const unpriced = { trace: 1, session: 1, usage_verbatim: { input_tokens: 1 }, cost_usd: null };
    await insertSpans(database(), [
      { n: 1, ...unpriced, model: 'inherited', inherited_from: idOf('session', 2) },
      { n: 2, ...unpriced, model: 'own' },
    ]);
    assert.equal((await lineOf(1)).traces[0].trace.usage.unpriced_models, ['own']);
  });

  test('what went in and out is as it was stored: nulls stay, and no number loses a digit', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    await insertSpans(database(), [{ n: 1, trace: 1, session: 1 }]);
    const block = '{"type": "tool_use", "tool_input": {"at": 12345678901234567890, "price": 1.50, "none": null}}';
    await database().sql(`update svc.spans set input = '[${block}]'::jsonb`);
    for (const given of [{}, { limits: SMALL }]) {
      const body = await (await exported.ask(`/sessions/${idOf('session', 1)}`, given)).text();
      const [, inputText] = /"input":\[(.*?)\],"output"/.exec(body) ?? [];
      assert.match(inputText ?? '', '"at": 12345678901234567890');
      assert.match(inputText ?? '', '"price": 1.50');
      assert.equal(JSON.parse(inputText ?? ''), JSON.parse(block));
    }
  });

  test('what somebody deleted is neither listed nor told', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await insertTraces(database(), [
      { n: 1, session: 1, started_at: '2026-11-20T00:00:00Z' },
      { n: 2, session: 2, started_at: '2026-11-20T00:00:00Z' },
    ]);
    await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1::uuid, now())', [
      idOf('session', 1),
    ]);
    assert.equal(
      (await linesOf(await exported.ask('/sessions'))).map(({ session }) => session.id),
      [idOf('session', 2)],
    );
    assert.is((await exported.ask(`/sessions/${idOf('session', 1)}`)).status, 404);
  });

  test('spans of many sizes over many pages come each once and in order, and so do traces and links', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertRollups(database(), [{ n: 1 }]);
    await insertTraces(
      database(),
      Array.from({ length: 7 }, (_, n) => ({ n, session: 1 })),
    );
    const spans = Array.from({ length: 70 }, (_, n) => ({ n, trace: n % 7, session: 1 }));
    await insertSpans(
      database(),
      spans.map((span) => ({ ...span, input: [{ type: 'text', text: 'x'.repeat((span.n % 5) * 3000) }] })),
    );
    await insertLinks(
      database(),
      spans.slice(1).map(({ n }) => ({ kind: 'feeds', session: 1, from: [(n - 1) % 7, n - 1], to: [n % 7, n] })),
    );
    const limits = { sessions: 1, rows: 10, storedBytes: 200, traces: 2, spans: 6, links: 4 };
    const whole = await (await exported.ask(`/sessions/${idOf('session', 1)}`)).text();
    assert.is(await (await exported.ask(`/sessions/${idOf('session', 1)}`, { limits })).text(), whole);
    const { traces, links } = JSON.parse(whole);
    const seqs = traces.map((one: Json) => one.spans.map(({ seq }: Json) => seq));
    assert.equal(
      seqs,
      Array.from({ length: 7 }, (_, trace) => Array.from({ length: 10 }, (_, n) => trace + 7 * n)),
    );
    assert.is(links.length, 69);
  });

  test('a span larger than an answer of the database may be is told whole', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    await insertSpans(
      database(),
      [0, 1, 2].map((n) => ({ n, trace: 1, session: 1 })),
    );
    await database().sql(
      `update svc.spans set output = jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('large ', 12000000)))
        where seq = 1`,
    );
    let bytes = 0;
    let last = '';
    for await (const chunk of (await exported.ask(`/sessions/${idOf('session', 1)}`)).body ?? []) {
      bytes += chunk.byteLength;
      last = Buffer.from(chunk.slice(-20)).toString();
    }
    assert.ok(bytes > 72_000_000, String(bytes));
    assert.match(last, /"links":\[\]}\n$/);
  });
});
