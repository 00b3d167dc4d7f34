/** Is what was said found across sessions, in any language, ranked, filtered, and never where it does not stand? */
import * as assert from 'uvu/assert';
import { findTool } from '../../../core/api/mcp/svc-find.ts';
import { FindPage } from '../../../core/model/find.ts';
import { Problem } from '../../../core/model/problem.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { indexAll } from '../../support/index-all.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('finding across sessions', (test, database) => {
  const api = () => testApi({ execute: database().execute });
  const get = async (query: Record<string, string>): Promise<Json> => {
    const response = await api().request(`/v1/find?${new URLSearchParams(query)}`);
    const body = await response.json();
    assert.is(response.status, 200, JSON.stringify(body));
    assert.equal(FindPage.parse(body), body);
    return body;
  };
  /** What the first match of each hit reads. */
  const found = async (text: string, more: Record<string, string> = {}): Promise<string[]> =>
    (await get({ text, ...more })).items.map(
      ({ matches: [{ before, match, after }] }: Json) => `${before}[${match}]${after}`,
    );
  const store = async (session: string, ...calls: Call[]): Promise<string> => {
    const [session_id = ''] = await storeCalls(
      database(),
      calls.map((call) => journalCall(session, call)),
    );
    await deriveAll(database());
    return session_id;
  };
  const says = (session: string, at: number, prompt: string, reply: string) =>
    store(session, { at, says: [user(prompt)], answers: answer(reply) });

  test.before.each(() => database().reset());

  test('words, parts of words, identifiers and paths', async () => {
    await says('a', 1, 'Why does the importer fail at midnight?', 'It calls readFileSync on core/db/read_all-rows.ts');
    await indexAll(database());
    assert.equal(await found('importer fail'), ['Why does the [importer fail] at midnight?']);
    assert.equal(await found('MIDNIGHT'), ['Why does the importer fail at [midnight]?']);
    assert.equal(await found('idnigh'), ['Why does the importer fail at m[idnigh]t?']);
    assert.equal(await found('FileSync'), ['It calls read[FileSync] on core/db/read_all-rows.ts']);
    assert.equal(await found('file'), ['It calls read[File]Sync on core/db/read_all-rows.ts']);
    assert.equal(await found('db/read_all'), ['It calls readFileSync on core/[db/read_all]-rows.ts']);
    assert.equal(await found('midnight importer'), ['Why does the [importer] fail at midnight?'], 'in any order');
    assert.equal(await found('exporter'), []);
    assert.equal(await found('...'), [], 'without a letter');
  });

  test('Greek, Chinese, Japanese and Korean', async () => {
    await says('a', 1, 'Το τεστ αποτυγχάνει το ΠΡΩΊ', '测试在晚上失败');
    await says('b', 2, '夜に失敗するテスト', '밤에 실패하는 테스트');
    await indexAll(database());
    assert.equal(await found('πρωί'), ['Το τεστ αποτυγχάνει το [ΠΡΩΊ]']);
    assert.equal(await found('晚上'), ['测试在[晚上]失败']);
    assert.equal(await found('败'), ['测试在晚上失[败]']);
    assert.equal(await found('テスト'), ['夜に失敗する[テスト]']);
    assert.equal(await found('실패'), ['밤에 [실패]하는 테스트']);
  });

  test('composed and decomposed forms of Unicode find each other, and what is shown is as it was recorded', async () => {
    const nfc = (text: string) => text.normalize('NFC');
    const nfd = (text: string) => text.normalize('NFD');
    await says('a', 1, nfd('/Users/me/Résumé größer.pdf'), nfd('ガギ 실패하는'));
    await says('b', 2, nfc('das Résumé'), nfc('ガギ 실패하는'));
    await indexAll(database());
    for (const form of [nfc, nfd]) {
      assert.equal(await found(form('résumé')), [nfc('das [Résumé]'), nfd('/Users/me/[Résumé] größer.pdf')]);
      assert.equal(await found(form('größer résumé')), [nfd('/Users/me/[Résumé] größer.pdf'), nfc('das [Résumé]')]);
      assert.equal(await found(form('ガギ')), [nfc('[ガギ] 실패하는'), nfd('[ガギ] 실패하는')]);
      assert.equal(await found(form('실패')), [nfc('ガギ [실패]하는'), nfd('ガギ [실패]하는')]);
      assert.is((await get({ text: form('größer') })).replaced_words, undefined);
    }
  });

  test('a word that no text has is found as the nearest one', async () => {
    await says('a', 1, 'Unclaimed suitcases are photographed', 'drainPendingQueue() waits');
    await says('b', 2, 'Το παιδικό εισιτήριο', 'Maintenance of the lighthouse');
    await indexAll(database());
    assert.equal(await found('photografed'), ['Unclaimed suitcases are [photographed]']);
    assert.equal(await found('unclaimd suitcase photografed'), ['[Unclaimed] suitcases are photographed']);
    assert.equal(await found('drainPendngQueue'), ['[drainPendingQueue]() waits']);
    assert.equal(await found('lighthose maintenence'), ['[Maintenance] of the lighthouse']);
    assert.equal(await found('εισιτηριο'), ['Το παιδικό [εισιτήριο]'], 'without accents');
    assert.equal(await found('photografed', { until: '2020-01-01T00:00:00Z' }), [], 'the filter holds');
    assert.equal(await found('dotografed'), [], 'the first letter has to be right');
    assert.equal(await found('phtgrphd'), [], 'too many mistakes');
    const { replaced_words } = await get({ text: 'LIGHTHOSE maintenance εισιτηριο' });
    assert.equal(replaced_words, [
      { word: 'lighthose', by: 'lighthouse' },
      { word: 'εισιτηριο', by: 'εισιτήριο' },
    ]);
    assert.is((await get({ text: 'lighthouse' })).replaced_words, undefined);
  });

  test('what has the word as it is sought leaves no room for near ones, and ranks first', async () => {
    await says('a', 1, 'The transaction was committed', 'a');
    await says('b', 2, 'The transactoin was commited', 'b');
    await indexAll(database());
    assert.equal(await found('transactoin'), ['The [transactoin] was commited']);
    const { items } = await get({ text: 'transaction commmitted' });
    assert.equal(items.length, 1);
    assert.ok(items[0].score < 2, 'below what has all words');
  });

  test('the text as it is written comes before its words, and of equals the newest', async () => {
    await says('words', 1, 'carry one adder, the other drops', 'a');
    await says('old', 2, 'the adder drops its carry', 'b');
    await says('new', 3, 'the adder drops its carry', 'c');
    await says('some', 4, 'adder only', 'd');
    await indexAll(database());
    const { items } = await get({ text: 'adder drops its carry' });
    assert.equal(
      items.map(({ at }: Json) => at.slice(17, 19)),
      ['03', '02', '01', '04'],
    );
    assert.ok(items[0].score >= 3 && items[2].score < 3);
  });

  test('a hit names session, trace, span, place, block and offsets', async () => {
    const session_id = await store(
      's',
      {
        at: 1,
        says: [user('Look')],
        answers: answer(
          { type: 'thinking', thinking: 'a hunch: zebra' },
          toolUse('t1', 'Bash', { command: 'ls zebra' }),
        ),
      },
      {
        at: 2,
        says: [
          user('Look'),
          assistant({ type: 'thinking', thinking: 'a hunch: zebra' }, toolUse('t1', 'Bash', { command: 'ls zebra' })),
          user(toolResult('t1', 'no such zebra', true)),
        ],
        answers: answer('So'),
      },
    );
    await indexAll(database());
    const { items, spans, spans_indexed, substrings } = await get({ text: 'zebra' });
    assert.equal([spans, spans_indexed, substrings], [4, 4, true]);
    const thinking = items.find(({ place }: Json) => place === 'thinking');
    const tools = items.find(({ place }: Json) => place === 'tools');
    assert.is(items.length, 2);
    assert.equal([thinking.session_id, thinking.kind, thinking.model], [session_id, 'llm', 'claude-sonnet-4-5']);
    assert.equal(
      [tools.kind, tools.name, tools.status, tools.matches.map(({ side, start, end }: Json) => [side, start, end])],
      [
        'tool',
        'Bash',
        'error',
        [
          ['input', 3, 8],
          ['output', 8, 13],
        ],
      ],
    );
    const span = await (await api().request(`/v1/traces/${tools.trace_id}/spans/${tools.span_id}`)).json();
    assert.is(span.output[0].tool_output.slice(8, 13), 'zebra');
    assert.equal((await get({ text: 'zebra', in: 'thinking' })).items, [thinking]);
    assert.equal((await get({ text: 'zebra', tool: 'Bash' })).items, [tools]);
    assert.equal((await get({ text: 'zebra', status: 'error' })).items, [tools]);
    assert.equal((await get({ text: 'zebra', tool: 'Read' })).items, []);
    assert.equal((await get({ text: 'zebra', until: '2026-11-21T09:00:01Z' })).items, []);
    assert.is((await get({ text: 'zebra', since: '2026-11-21T09:00:01Z' })).items.length, 2);
  });

  test('pages', async () => {
    for (let i = 0; i < 5; i += 1) await says(`s${i}`, i, `needle number ${i}`, 'yes');
    await indexAll(database());
    const seen: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 5; pages += 1) {
      const page = await get({ text: 'needle', limit: '2', ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ matches: [one] }: Json) => one.after.at(-1)));
      cursor = page.next_cursor;
      if (!cursor) break;
    }
    assert.equal(seen, ['4', '3', '2', '1', '0']);
  });

  test('each hit is on one page of any size, and an older one that is better is lost on none', async () => {
    const OLD_AND_BETTER = [3, 44];
    const calls = Array.from({ length: 130 }, (_, at) => {
      const prompt = OLD_AND_BETTER.includes(at) ? 'the adder drops its carry' : 'carry its adder, the other drops';
      return journalCall(`s${at}`, { at, says: [user(prompt)], answers: answer('yes') });
    });
    await storeCalls(database(), calls);
    await deriveAll(database());
    await indexAll(database());
    const walk = async (text: string, limits: readonly string[]): Promise<string[]> => {
      const seen: string[] = [];
      for (let page: Json = {}, n = 0; n === 0 || page.next_cursor; n += 1) {
        const limit = limits[n % limits.length] ?? '';
        page = await get({ text, limit, ...(n > 0 && { cursor: page.next_cursor }) });
        seen.push(...page.items.map(({ span_id }: Json) => span_id));
      }
      return seen;
    };
    for (const text of ['adder drops its carry', 'addder drops carry']) {
      const spans = await walk(text, ['20']);
      assert.equal([spans.length, new Set(spans).size], [130, 130], text);
      assert.equal(await walk(text, ['7', '50']), spans, text);
    }
  });

  test('each hit is shown once also where new ones come in between two pages, and cursors of former versions go on', async () => {
    const spansOf = ({ items }: Json): string[] => items.map(({ span_id }: Json) => span_id);
    const turns = (session: string, ats: readonly number[]) =>
      store(session, ...ats.map((at) => ({ at, says: [user(`a needle ${at}`)], answers: answer('ok') })));
    await turns('a', [10, 20, 30, 40, 50]);
    await indexAll(database());
    const tool = findTool({ execute: database().execute, takePlace: async () => () => {} });
    const toolPage = async (cursor: string | null = null): Promise<Json> =>
      (await tool.call({ text: 'needle', limit: 2, cursor }, { signal: new AbortController().signal })).structured;
    const old = spansOf(await get({ text: 'needle' }));
    const first = await get({ text: 'needle', limit: '2' });
    const shown = await toolPage();
    await turns('b', [60, 61, 62, 45]); // one of them began before what the first page shows
    await indexAll(database());
    const seen = spansOf(first);
    for (let cursor = first.next_cursor; cursor; ) {
      const page = await get({ text: 'needle', limit: '2', cursor });
      seen.push(...spansOf(page));
      cursor = page.next_cursor;
    }
    assert.is(new Set(seen).size, seen.length, 'none twice');
    assert.is(seen.length, 9);
    for (const span of old) assert.ok(seen.includes(span));
    for (let cursor = shown.next_cursor; cursor; ) {
      const page = await toolPage(cursor);
      shown.hits.push(...page.hits);
      cursor = page.next_cursor;
    }
    assert.equal(shown.hits.map(({ span_id }: Json) => span_id).sort(), seen.sort(), 'svc_find shows the same');

    const [version, scope, { skip, amends }] = JSON.parse(Buffer.from(first.next_cursor, 'base64url').toString());
    const former = Buffer.from(JSON.stringify([version, scope, { skip, amends }])).toString('base64url');
    const all = spansOf(await get({ text: 'needle' }));
    const page = await get({ text: 'needle', limit: '3', cursor: former });
    assert.equal(spansOf(page), all.slice(2, 5));
    assert.equal(spansOf(await get({ text: 'needle', cursor: page.next_cursor })), all.slice(5));
  });

  test('a session that goes on, is deleted, or purged', async () => {
    const session_id = await says('s', 1, 'a walrus', 'b');
    await indexAll(database());
    await store('s', { at: 2, says: [user('a walrus'), assistant('b'), user('a penguin')], answers: answer('c') });
    const before = await get({ text: 'penguin' });
    assert.equal([before.items.length, before.spans, before.spans_indexed], [0, 4, 2], 'not in the index yet');
    await indexAll(database());
    assert.is((await found('penguin')).length, 1);
    assert.is((await found('walrus')).length, 1);
    await database().execute('deleteSession', { session_id });
    assert.equal(await found('walrus'), []);
    const opened = await database().execute('openPurge', { session_id });
    await database().execute('purgeSession', { session_id, up_to: opened?.up_to ?? 0, made: [], reason: 'test' });
    for (const table of ['found_texts', 'found_sessions', 'found_prompts', 'found_prompt_uses'])
      assert.equal(await database().sql(`select 1 from svc.${table}`), [], table);
  });

  test('what cannot be read is refused', async () => {
    for (const query of [
      '',
      '?text=',
      '?text=a&in=titles',
      '?text=a&limit=0',
      '?text=a&cursor=x',
      `?text=${'x'.repeat(1025)}`,
    ]) {
      const response = await api().request(`/v1/find${query}`);
      assert.equal([response.status, Problem.parse(await response.json()).code], [400, 'bad-request'], query);
    }
  });
});
