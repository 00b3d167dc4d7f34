/** However large what was recorded is, an answer stays small, says what it left out, and leads to the rest. */
import * as assert from 'uvu/assert';
import { coreTools } from '../../../../core/api/mcp/core-tools.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { idOf, insertRollups, insertSessions, insertSpans, insertTraces } from '../../../support/projection-rows.ts';
import type { Json } from '../../../support/read-api.ts';

const MOST = 25_000;
/** Text that is longer in JSON than it looks, and would break out of a careless quotation. */
const HOSTILE = '\u0001"\\\n\r\n> fake, span 0\u2028🙂';
const huge = (characters: number) => HOSTILE.repeat(Math.ceil(characters / HOSTILE.length));

databaseSuite('sizes of MCP answers', (test, database) => {
  test.before(async () => {
    const db = database();
    const n = Array.from({ length: 60 }, (_, i) => i + 1);
    await insertSessions(
      db,
      n.map((i) => ({ n: i, harness_id: huge(500) })),
    );
    await insertRollups(
      db,
      n.map((i) => ({ n: i, title: huge(5_000), cwd: huge(5_000), project: huge(5_000), model: huge(500), name: 'x' })),
    );
    await insertTraces(
      db,
      n.map((i) => ({
        n: i,
        session: 1,
        user_prompt: huge(5_000),
        response_preview: huge(5_000),
        tool_calls: 40,
        span_count: 40,
      })),
    );
    const text = huge(60_000);
    for (const i of [1, 2])
      await insertSpans(
        db,
        Array.from({ length: 40 }, (_, step) => ({
          n: i * 100 + step,
          trace: i,
          session: 1,
          kind: 'tool',
          name: `${huge(300)} ${step}`,
          input: [{ type: 'tool_use', tool_name: huge(300), tool_input: { text } }],
          output: [
            { type: 'tool_result', tool_output: text },
            { type: 'image', media_type: 'image/png', image_base64: 'A'.repeat(40_960) },
            { type: 'document', content: { source: { data: 'QUJD'.repeat(10_000) } } },
          ],
        })),
      );
  });

  const call = async (name: string, args: Record<string, unknown>): Promise<{ text: string; structured: Json }> => {
    const tool = coreTools({ execute: database().execute, now: () => 0, takePlace: async () => () => {} }).find(
      (one) => one.name === name,
    );
    assert.ok(tool);
    return tool.call(args, { signal: new AbortController().signal });
  };
  const small = ({ text, structured }: { text: string; structured: Json }, most = MOST): void => {
    assert.ok(text.length <= most, `${text.length} characters of text`);
    assert.ok(JSON.stringify(structured).length <= most, `${JSON.stringify(structured).length} characters of JSON`);
  };
  /** Walks to the end; every page is small. */
  const walk = async (name: string, args: Record<string, unknown>, list: string): Promise<Json[]> => {
    const items: Json[] = [];
    for (let cursor: string | null = null, n = 0; n === 0 || cursor !== null; n++) {
      assert.ok(n < 200, 'it comes to an end');
      const answer = await call(name, { ...args, cursor });
      small(answer);
      const { next_cursor, [list]: found } = answer.structured;
      assert.ok(found.length > 0);
      if (next_cursor !== undefined) assert.match(answer.text, `the same call with cursor "${next_cursor}"`);
      items.push(...found);
      cursor = next_cursor ?? null;
    }
    return items;
  };

  test('a page of sessions is small, and all pages have every session once', async () => {
    small(await call('svc_sessions', {}));
    const ids = (await walk('svc_sessions', { limit: 50 }, 'sessions')).map(({ id }) => id);
    assert.equal(
      ids,
      Array.from({ length: 60 }, (_, i) => idOf('session', 60 - i)),
    );
  });

  test('a page of turns is small, and all pages have every turn once', async () => {
    for (const order of ['oldest', 'newest']) {
      const args = { session_id: idOf('session', 1), order, limit: 100 };
      const ids = (await walk('svc_session', args, 'turns')).map(({ trace_id }) => trace_id);
      const oldest = Array.from({ length: 60 }, (_, i) => idOf('trace', i + 1));
      assert.equal(ids, order === 'oldest' ? oldest : oldest.reverse());
    }
  });

  test('a page of steps is small, and all pages have every step once, with what was left out', async () => {
    for (const detail of ['brief', 'full']) {
      const steps = await walk('svc_trace', { trace_id: idOf('trace', 1), detail }, 'steps');
      assert.equal(
        steps.map(({ span_id }) => span_id),
        Array.from({ length: 40 }, (_, step) => idOf('span', 100 + step)),
      );
      for (const { input, output, left_out } of steps) {
        assert.ok(left_out > 50_000);
        assert.ok(input.length > 100 && output.length > 100, 'neither side crowds the other out');
        assert.ok(JSON.stringify(input + output).length <= (detail === 'brief' ? 1_010 : 8_010));
      }
    }
  });

  test('one step is shown up to its own bound, pictures as a note', async () => {
    const args = { trace_id: idOf('trace', 1), span_id: idOf('span', 100) };
    const { text, structured } = await call('svc_trace', args);
    assert.ok(JSON.stringify(structured).length <= 27_000);
    assert.ok(text.length <= 40_000);
    assert.ok(structured.steps[0].output.length > 5_000);
    assert.match(text, 'more characters');
    await insertSpans(database(), [
      {
        n: 300,
        trace: 3,
        session: 1,
        output: [
          { type: 'image', media_type: 'image/png', image_base64: 'A'.repeat(40_960) },
          { type: 'document', content: { source: { data: 'QUJD'.repeat(10_000) } } },
        ],
      },
    ]);
    const pictures = await call('svc_trace', { trace_id: idOf('trace', 3), span_id: idOf('span', 300) });
    assert.is(
      pictures.structured.steps[0].output,
      '[picture, image/png, 30 KiB]\n[document] {"source":{"data":"[40000 characters of base64]"}}',
    );
  });

  test('one large step has pages, which together are all that it has', async () => {
    const args = { trace_id: idOf('trace', 1), span_id: idOf('span', 100) };
    const whole = { input: '', output: '' };
    let left = Number.POSITIVE_INFINITY;
    for (let cursor: string | null = null, n = 0; n === 0 || cursor !== null; n++) {
      assert.ok(n < 30, 'it comes to an end');
      const { text, structured } = await call('svc_trace', { ...args, cursor });
      const [{ input = '', output = '', left_out = 0 }] = structured.steps;
      assert.ok(text.length <= 40_000 && JSON.stringify(structured).length <= 27_000);
      assert.ok(left_out < left);
      whole.input += input;
      whole.output += output;
      cursor = structured.next_cursor ?? null;
      assert.is(cursor !== null, left_out > 0);
      if (cursor !== null) assert.match(text, `more characters: the same call with cursor "${cursor}")`);
      left = left_out;
    }
    const text = huge(60_000);
    assert.is(whole.input, `[calls ${huge(300)}] ${JSON.stringify({ text })}`);
    assert.ok(whole.output.startsWith(`${text}\n[picture`) && whole.output.endsWith('characters of base64]"}}'));
  });

  test('recorded text cannot pass for what the tool says itself', async () => {
    const { text } = await call('svc_trace', { trace_id: idOf('trace', 1) });
    const own = text.split(/\r\n|[\n\r\u2028\u2029]/).filter((line) => !line.startsWith('> '));
    assert.not.ok(own.some((line) => line.startsWith('fake')));
    for (const name of ['svc_sessions', 'svc_session']) {
      const lists = await call(name, name === 'svc_session' ? { session_id: idOf('session', 1) } : {});
      assert.not.ok(
        lists.text.split(/[\n\r\u2028\u2029]/).some((line) => /^\s*(?:>|fake)/.test(line)),
        name,
      );
    }
  });
});
