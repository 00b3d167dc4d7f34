import * as assert from 'uvu/assert';
import { embedSpans } from '../../../cassettes/search/embed-spans.ts';
import { answer, system, toolUse, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import type { Json } from '../../support/read-api.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

type Server = Awaited<ReturnType<typeof startEmbedder>>;

databaseSuite('search: embedding in the background', (test, database) => {
  let server: Server;
  let search: Awaited<ReturnType<typeof standSearch>>;
  /** What the embedder does with a call that holds a text of this kind. */
  let refuse: (input: readonly string[]) => number | Promise<number> = () => 200;

  const ollama = () => ({ 'embedding.provider': 'ollama', 'embedding.target': server.url });
  const say = async (session: string, asks: string, answers: string, at = 0) => {
    await storeCalls(database(), [journalCall(session, { at, says: [user(asks)], answers: answer(answers) })]);
    await deriveAll(database());
  };
  const newTexts = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = server.texts().length;
    await work();
    return server.texts().slice(before);
  };
  const own = async (text: string): Promise<Json[]> => database().sql(text);
  /** Changes rows of sessions, and records that they changed, as everything does that writes them. */
  const change = async (text: string): Promise<void> => {
    await own(text);
    await own('update svc.session_changes set changed_by = pg_current_xact_id()');
  };
  const fails = async (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => assert.unreachable() as never,
      (error: Error) => error,
    );

  test.before(async () => {
    server = await startEmbedder({ refuse: (input) => refuse(input) });
    await say('fruit', 'how do apples grow', 'on trees');
    search = await standSearch(database(), { config: ollama() });
    await search.embedded();
  });
  test.after(async () => {
    await search.close();
    await server.close();
  });
  test.before.each(() => {
    refuse = () => 200;
  });

  test('the first run is due at once, and what it embedded is not embedded again', async () => {
    assert.equal(server.texts(), ['how do apples grow\non trees']);
    assert.equal(await newTexts(() => search.pass()), []);
  });

  test('only calls of the main conversation are embedded: no tools, no events, no titles', async () => {
    const embedded = await own(
      `select distinct s.kind, s.call_kind from cassette_search.embedded_spans e join svc.spans s using (trace_id, span_id)`,
    );
    assert.equal(embedded, [{ kind: 'llm', call_kind: 'main' }]);
  });

  test('a new span is embedded by the next run', async () => {
    await say('ships', 'how do ships float', 'on water', 10);
    assert.is((await search.status()).pending, 1);
    assert.equal(await newTexts(() => search.pass()), ['how do ships float\non water']);
    assert.is((await search.find('ships')).results[0].user_prompt, 'how do ships float');
  });

  test('a span whose words changed is embedded again, and its old chunks go', async () => {
    await say('long', 'tell me everything', 'everything '.repeat(1500), 20);
    await search.pass();
    const chunks = async () => (await search.status()).chunks;
    const before = await chunks();
    await change(`update svc.spans set plain_text = E'tell me everything\\nnothing', node_hash = '\\x01'
                where kind = 'llm' and input::text like '%tell me everything%'`);
    assert.equal(await newTexts(() => search.pass()), ['tell me everything\nnothing']);
    assert.ok((await chunks()) < before);
    assert.is((await search.find('nothing', 1)).results[0].snippet, 'tell me everything nothing');
  });

  test('a very long text is embedded as far as a hundred chunks go, and costs the others nothing', async () => {
    await say('endless', 'endless numbers', Array.from({ length: 120_000 }, (_, i) => i).join(' '), 25);
    await say('brief', 'brief numbers', 'one two three', 26);
    const before = (await search.status()).chunks;
    await search.pass();
    const { chunks, failed, pending, shortened } = await search.status();
    assert.ok(chunks - before > 60 && chunks - before <= 101, String(chunks - before));
    assert.equal([failed, pending, shortened], [0, 0, 1]);
    assert.is((await search.find('brief', 1)).results[0].user_prompt, 'brief numbers');
    assert.is((await search.find('endless', 1)).results[0].user_prompt, 'endless numbers');
  });

  test('a span that changed in other ways costs no embedding', async () => {
    await change(
      `update svc.spans set node_hash = '\\x02' where kind = 'llm' and input::text like '%tell me everything%'`,
    );
    assert.is((await search.status()).pending, 1);
    assert.equal(await newTexts(() => search.pass()), []);
    const { pending, embedded } = await search.status();
    assert.equal([pending, embedded], [0, 5]);
    assert.is((await search.find('nothing', 1)).count, 1);
  });

  test('spans of an older version keep their vectors, and once derived again they are compared and not embedded', async () => {
    const [embedded] = await own(
      `select e.* from cassette_search.embedded_spans e join svc.spans s using (trace_id, span_id)
                where s.plain_text like '%apples%'`,
    );
    const before = await search.status();
    await own(`update svc.spans set plain_text = null`);
    await own(`update svc.session_rollups set derive_version = derive_version - 1`);
    await own(`update cassette_search.embedded_spans set fingerprint = 'of an older version'`);
    assert.equal(await newTexts(() => search.pass()), []);
    assert.equal(await search.status(), before, 'they are not due');
    assert.is((await search.find('apples', 1)).results[0].user_prompt, 'how do apples grow');

    await deriveAll(database());
    assert.is((await search.status()).pending, before.spans);
    const texts = await newTexts(() => search.pass());
    assert.ok(
      texts.every((text) => /^(?:tell me )?everything/.test(text)),
      'but for the one that was changed by hand above',
    );
    const { pending, chunks } = await search.status();
    assert.is(pending, 0);
    assert.ok(chunks >= before.chunks);
    assert.equal(
      await own(`select content_hash from cassette_search.embedded_spans where span_id = '${embedded.span_id}'`),
      [{ content_hash: embedded.content_hash }],
    );
  });

  test("the provider's error sentence is found by search", async () => {
    const call = {
      ...{ at: 28, says: [user('pour the whole archive in')], status: 400 },
      answers: { content: [], usage: null, error: { type: 'invalid_request_error', message: 'the vessel overflows' } },
    };
    await storeCalls(database(), [journalCall('overflowing', call)]);
    await deriveAll(database());
    assert.equal(await newTexts(() => search.pass()), ['pour the whole archive in\nthe vessel overflows']);
    assert.is((await search.find('vessel overflows', 1)).results[0].user_prompt, 'pour the whole archive in');
  });

  test('what a harness and a system prompt say is nothing that a person said', async () => {
    const says = [
      system('You are a coding agent'),
      user('# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nBe brief\n</INSTRUCTIONS>'),
      user('<environment_context>\n  <cwd>/a</cwd>\n</environment_context>'),
      user('<system-reminder>Mind the date</system-reminder>', 'count the sheep'),
    ];
    await storeCalls(database(), [journalCall('sheep', { at: 29, says, answers: answer('seven') })]);
    await deriveAll(database());
    assert.equal(await newTexts(() => search.pass()), ['count the sheep\nseven']);
    assert.is((await search.find('sheep', 1)).results[0].user_prompt, 'count the sheep');
  });

  test('a span in which nothing was said is told as empty, and asked of no embedder', async () => {
    const call = { at: 30, says: [user(toolUse('t1'))], answers: answer(toolUse('t2')) };
    await storeCalls(database(), [journalCall('silent', call)]);
    await deriveAll(database());
    assert.equal(await newTexts(() => search.pass()), []);
    assert.is((await search.status()).empty, 1);
  });

  test('a deleted session is found no more, and the next run forgets its vectors', async () => {
    await say('secret', 'the secret garden', 'of roses', 40);
    await search.pass();
    const { results } = await search.find('secret roses', 1);
    const { session_id, span_id } = results[0];
    assert.is(results[0].user_prompt, 'the secret garden');
    const deleted = await search.ask(`/v1/sessions/${session_id}`, { method: 'DELETE' });
    assert.is(deleted.status, 204);
    assert.not.ok((await search.find('secret roses', 100)).results.some((hit: Json) => hit.span_id === span_id));
    await search.pass();
    for (const table of ['embedded_spans', 'span_embeddings'])
      assert.equal(await own(`select 1 from cassette_search.${table} where span_id = '${span_id}'`), []);
  });

  test('what is deleted is forgotten also where there is no embedder', async () => {
    await say('gone', 'a passing thought', 'forgotten', 45);
    await search.pass();
    const { session_id } = (await search.find('passing thought', 1)).results[0];
    await search.ask(`/v1/sessions/${session_id}`, { method: 'DELETE' });
    const error = await fails(search.pass({ 'embedding.provider': 'local', 'embedding.model': 'no-such-model' }));
    assert.is(error.name, 'NoEmbedder');
    assert.equal(await own(`select 1 from cassette_search.embedded_spans where session_id = '${session_id}'`), []);
  });

  test('how far it is is told before the first batch, after each, and without anything to do', async () => {
    await search.pass();
    const { embedded, empty } = await search.status();
    const known = embedded + empty;
    assert.equal(search.progress.at(-1), { done: known, pending: 0, failed: 0 });
    const calls = Array.from({ length: 20 }, (_, i) =>
      journalCall(`many-${i}`, { at: 46 + i / 100, says: [user(`question ${i}`)], answers: answer(`reply ${i}`) }),
    );
    await storeCalls(database(), calls);
    await deriveAll(database());
    refuse = (input) => (input.some((text) => text.includes('question 7\n')) ? 400 : 200);
    search.progress.length = 0;
    await search.pass();
    assert.equal(
      search.progress.map(({ done, pending, failed }) => [done + failed - known, pending]),
      [[0, 20], ...[[16, 4]], [20, 0]],
    );
    assert.is(search.progress.at(-1)?.failed, 1);
    const forget = "update svc.spans set plain_text = '', node_hash = '\\x05' where input::text like '%question%'";
    await change(forget);
    await search.pass();
    assert.is(search.progress.at(-1)?.failed, 0);
  });

  test('a text that is refused is recorded with its reason, the others are embedded, and it is not tried again', async () => {
    refuse = (input) => (input.some((text) => text.includes('poison')) ? 400 : 200);
    await say('poison', 'this is poison', 'drink not', 50);
    await say('water', 'this is water', 'drink', 60);
    await search.pass();
    const { failed, failures, pending } = await search.status();
    assert.equal([failed, pending], [1, 0]);
    assert.is(failures[0].reason, 'Cannot embed: ollama answered 400');
    assert.is(failures[0].attempts, 1);
    assert.is(failures[0].retry_at, null);
    assert.is((await search.find('water', 1)).results[0].user_prompt, 'this is water');
    assert.equal(await newTexts(() => search.pass()), []);
  });

  test('a refused text is tried again once its words change', async () => {
    await change(`update svc.spans set plain_text = E'this is milk\\ndrink not', node_hash = '\\x03'
                where kind = 'llm' and input::text like '%poison%'`);
    await search.pass();
    assert.is((await search.status()).failed, 0);
    assert.match((await search.find('milk', 1)).results[0].snippet, 'this is milk');
  });

  test('a text over which the embedder fails is tried again later, and given up after five times', async () => {
    refuse = (input) => (input.some((text) => text.includes('curse')) ? 500 : 200);
    await say('curse', 'this is a curse', 'beware', 70);
    for (let attempt = 1; attempt <= 5; attempt++) {
      await search.pass();
      const [failure] = (await search.status()).failures;
      assert.is(failure.attempts, attempt);
      assert.is(failure.retry_at === null, attempt === 5);
      assert.equal(await newTexts(() => search.pass()), []); // it is not due yet
      await own(`update cassette_search.embedded_spans set retry_at = now() where retry_at is not null`);
    }
    assert.equal(await newTexts(() => search.pass()), []);
  });

  test('an embedder that is away or refuses everybody costs no span anything: the next run goes on', async () => {
    await say('patience', 'patience is a virtue', 'indeed', 80);
    await say('haste', 'haste makes waste', 'truly', 90);
    for (const status of [401, 404, 429, 500, 503]) {
      refuse = () => status;
      assert.is((await fails(search.pass())).message, `Cannot embed: ollama answered ${status}`);
    }
    assert.match((await fails(search.pass({ 'embedding.target': 'http://127.0.0.1:9' }))).message, /cannot be asked/);
    assert.is((await search.status()).pending, 2);
    refuse = () => 200;
    await search.pass();
    assert.is((await search.status()).pending, 0);
    assert.is((await search.find('virtue', 1)).results[0].user_prompt, 'patience is a virtue');
  });

  test('another model embeds everything again, beside the vectors of the one before, which serve who still has that', async () => {
    const before = await search.status();
    let during: Json = null;
    refuse = async (input) => {
      if (input.length > 1) during ??= await search.find('apples', 1).catch((error) => error); // the first batch is late by that
      return 200;
    };
    const other = { 'embedding.model': 'another', 'embedding.dimensions': 256 };
    const texts = await newTexts(() => search.pass(other));
    assert.ok(texts.length >= before.embedded);
    assert.is(during.results[0].user_prompt, 'how do apples grow');
    const rows = await own(
      `select model, dimensions, count(distinct span_id)::int as spans from cassette_search.span_embeddings group by 1, 2`,
    );
    assert.equal(rows, [{ model: 'ollama/another@256', dimensions: 256, spans: before.embedded + 1 }]); // the curse is lifted
    const otherSearch = await standSearch(database(), { config: { ...ollama(), ...other }, name: 'search' });
    try {
      assert.is((await otherSearch.find('apples', 1)).results[0].user_prompt, 'how do apples grow');
      assert.equal((await otherSearch.status()).other_models, []);
    } finally {
      await otherSearch.close();
    }
  });

  test('vectors of a model that is half done are found, and those of the other one stay', async () => {
    refuse = (input) => (input.some((text) => text.includes('ships')) ? 503 : 200);
    await fails(search.pass());
    const { other_models } = await search.status();
    assert.equal(other_models, ['ollama/another@256']);
    refuse = () => 200;
    await search.pass();
    assert.equal((await search.status()).other_models, []);
  });

  /** One run of the background work. @returns the most entries that one of its statements deleted */
  const mostDeleted = async (): Promise<number> => {
    const entries = async () => Number((await own('select count(*) as n from cassette_search.embedded_spans'))[0].n);
    const env = search.env();
    let most = 0;
    const DB = {
      query: async (text: string, parameters?: unknown[]) => {
        const before = await entries();
        const result = await env.DB?.query(text, parameters);
        most = Math.max(most, before - (await entries()));
        return result;
      },
    } as NonNullable<(typeof env)['DB']>;
    const { signal } = new AbortController();
    await embedSpans({ ...env, DB }, { signal }, { progress: () => {} });
    return most;
  };

  test('vectors of other models go some hundred at a time, since a statement may take ten seconds', async () => {
    await own(`insert into cassette_search.embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
               select case n % 2 when 0 then 'a' else 'z' end || n, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks
                 from cassette_search.embedded_spans, generate_series(1, 300) n`);
    const [before] = await own('select count(*)::int as spans from cassette_search.embedded_spans');
    assert.ok(before?.spans > 1_500, `${before?.spans} spans`);
    assert.is(await mostDeleted(), 500);
    assert.equal((await search.status()).other_models, []);
    const [left] = await own('select count(distinct model)::int as models from cassette_search.embedded_spans');
    assert.is(left?.models, 1);
  });

  test('so do those of spans that are gone', async () => {
    const entries = 'select model, trace_id, span_id from cassette_search.embedded_spans order by 1, 2, 3';
    const before = await own(entries);
    await own(`insert into cassette_search.embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
               select model, gen_random_uuid(), span_id, gen_random_uuid(), fingerprint, content_hash, state, chunks
                 from cassette_search.embedded_spans, generate_series(1, 300)`);
    assert.ok((await own(entries)).length > 1_500);
    assert.is(await mostDeleted(), 500);
    assert.equal(await own(entries), before);
  });
});
