import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { databaseSuite } from '../../support/databases.ts';
import { demoApi } from '../../support/demo-api.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { standSearch } from '../../support/search.ts';

type Question = { asks: string; finds: string };
const questions: Question[] = JSON.parse(await readFile(new URL('./questions.json', import.meta.url), 'utf8'));

const STOP = new Set(
  'a an and are at because between by each ever for from got has having how in is it its many more of on one other out so than that the them to too was were which while with'.split(
    ' ',
  ),
);
/** Words that mean something, without the endings that inflect them. */
const contentWords = (text: string): Set<string> =>
  new Set(
    (text.toLowerCase().match(/[a-z]+/g) ?? [])
      .filter((word) => !STOP.has(word))
      .map((word) => (word.length > 4 ? word.replace(/(?:ing|ed|es|s|ly)$/, '') : word)),
  );

databaseSuite('search: paraphrased questions', (test, database) => {
  test('the local model finds each of twenty spans by a question that shares no content word with it, among its first three', async () => {
    await demoApi(database());
    const recorded = await recordedSession(database());
    const search = await standSearch(database());
    try {
      const { failed, embedded } = await search.embedded();
      assert.is(failed, 0);
      assert.ok(embedded > 30);
      assert.is(questions.length, 20);
      const missed: string[] = [];
      for (const { asks, finds } of questions) {
        const spans = await spansSaying(finds);
        if (spans.length === 0 && !recorded) continue;
        assert.is(spans.length, 1, `"${finds}" is said in ${spans.length} spans`);
        const [target] = spans;
        const shared = [...contentWords(asks)].filter((word) => contentWords(target?.text ?? '').has(word));
        assert.equal(shared, [], `"${asks}" shares words with its target`);
        const { results } = await search.find(asks, 3);
        if (!results.some(({ span_id }: { span_id: string }) => span_id === target?.span_id))
          missed.push(`${asks}: ${results.map((hit: { snippet: string }) => hit.snippet.slice(0, 60)).join(' | ')}`);
      }
      assert.equal(missed, []);
    } finally {
      await search.close();
    }
  });

  const spansSaying = async (phrase: string): Promise<{ span_id: string; text: string }[]> =>
    (await database().sql(
      `select span_id, text from (
         select span_id, (select string_agg(b ->> 'text', ' ') from jsonb_array_elements(input || output) b
                           where b ->> 'type' = 'text') as text
           from svc_v1.spans where kind = 'llm' and call_kind = 'main') s
        where position($1::text in text) > 0`,
      [phrase],
    )) as { span_id: string; text: string }[];
});
