/** Is every place of a text in a session found, and none that is not there? */
import * as assert from 'uvu/assert';
import type { FindStart, SearchedPage } from '../../../core/db/find/find-in-session.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import { FindLine } from '../../../core/model/find.ts';
import { Problem } from '../../../core/model/problem.ts';
import type { Span } from '../../../core/model/span.ts';
import { answer, assistant, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { indexAll } from '../../support/index-all.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

/** Code, other scripts, characters with a meaning in regular expressions, and what stands at the ends of texts. */
const SOUGHT = [
  ...[
    'readFileSync',
    'READFILESYNC',
    'const a = [1, 2];',
    'a.b',
    'a*b',
    '(?:x|y)+',
    '[a-z]{2,}',
    '\\d+\\s',
    '$1^',
    'x || y',
    '"quoted"',
  ],
  ...['πρωί', 'ΠΡΩΊ', 'Το τεστ', '晚上', '败', '夜に', '실패', '🦊', 'naïve', 'STRASSE', 'ß'],
  ...['line one\nline two', '\tindented', 'e', ' ', 'core/db/', '..', 'zzz-nowhere', '</script>'],
];

databaseSuite('finding in a session', (test, database) => {
  const api = () => testApi({ execute: database().execute });
  const find = async (session_id: string, query: Record<string, string>): Promise<Json[]> => {
    const response = await api().request(`/v1/sessions/${session_id}/find?${new URLSearchParams(query)}`);
    assert.is(response.status, 200);
    assert.is(response.headers.get('content-type'), 'application/x-ndjson');
    const lines = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const line of lines) assert.equal(FindLine.parse(line), line);
    return lines;
  };

  let session_id = '';
  test.before.each(async () => {
    await database().reset();
    const prompt = user('Το τεστ αποτυγχάνει το πρωί: a.b, a*b and "quoted" 🦊', 'naïve\tindented Straße');
    const called = assistant(
      { type: 'thinking', thinking: 'perhaps (?:x|y)+ or [a-z]{2,} $1^' },
      'I look at core/db/',
      toolUse('t1', 'Bash', {
        command: 'grep -n "readFileSync" x || y',
        options: { lines: ['line one\nline two', 7] },
      }),
      toolUse('t2', 'Read', { path: '../notes' }),
    );
    const results = user(
      toolResult('t1', 'const a = [1, 2];\n\\d+\\s readFileSync readfilesync'),
      toolResult('t2', '测试在晚上失败 夜に 실패 </script>', true),
    );
    const [stored = ''] = await storeCalls(database(), [
      journalCall('s', { at: 1, says: [prompt], answers: answer(...called.content) }),
      journalCall('s', { at: 2, says: [prompt, called, results], answers: answer('It fails: line one\nline two') }),
    ]);
    session_id = stored;
    await deriveAll(database());
  });

  test('as many as by brute force over the texts of the API, each at its offsets', async () => {
    const { traces } = await (await api().request(`/v1/sessions/${session_id}/traces`)).json();
    const spans: Span[] = traces.flatMap((trace: Json) => trace.spans);
    const byId = new Map(spans.map((span) => [span.span_id, span]));
    const texts = spans.flatMap((span) => textsOfSpan(span));
    for (const text of SOUGHT) {
      const lines = await find(session_id, { text, in: 'conversation,tools,thinking' });
      const hits = lines.filter((line) => 'match' in line);
      assert.is(
        hits.length,
        texts.reduce((sum, one) => sum + occurrences(one, text), 0),
        text,
      );
      assert.equal(lines.at(-1), { searched: spans.length, of: spans.length, complete: true });
      for (const { span_id, side, block, start, end, before, match, after } of hits) {
        const span = byId.get(span_id) as Span;
        const whole = textsOf((side === 'input' ? span.input : span.output)[block] as ContentBlock).join('\n');
        assert.is(whole.slice(start, end), match);
        assert.is(match.toLowerCase(), text.toLowerCase());
        assert.ok(whole.includes(before + match + after));
      }
    }
  });

  test('a text is found in either form of Unicode, with its offsets as they were recorded', async () => {
    for (const form of ['NFC', 'NFD']) {
      const [hit, ...others] = await find(session_id, { text: 'naïve\tindented'.normalize(form), in: 'conversation' });
      assert.is(others.length, 1, form);
      assert.is(hit.match, 'naïve\tindented');
      assert.is(hit.end - hit.start, 14);
    }
  });

  test('in some places, and in a thread', async () => {
    const places = async (query: Record<string, string>) =>
      (await find(session_id, query)).flatMap(({ place }) => place ?? []);
    assert.equal(await places({ text: 'readfilesync' }), ['tools', 'tools', 'tools']);
    assert.equal(await places({ text: 'line two', in: 'conversation' }), ['conversation']);
    assert.equal(await places({ text: 'line two', in: 'tools,conversation' }), ['tools', 'conversation']);
    assert.equal(await places({ text: 'perhaps', in: 'thinking' }), ['thinking']);
    assert.equal(await places({ text: 'line two', thread: '' }), ['tools', 'conversation']);
    assert.equal((await find(session_id, { text: 'line two', thread: 'agent' })).at(-1), {
      searched: 0,
      of: 0,
      complete: true,
    });
  });

  test('system prompts and tools: each once, at the first call that holds it, as the context of that call has it', async () => {
    const tools = [{ name: 'Lookup', description: 'Finds the 晚上 of\na zebra', input_schema: { type: 'object' } }];
    const [prompted = ''] = await storeCalls(
      database(),
      [1, 2, 3].map((at) => {
        const call = journalCall('prompted', {
          at,
          call_id: `prompted-${at}`,
          says: [user(`question ${at}`)],
          answers: answer('yes'),
        });
        const body = JSON.parse(String(call.request));
        const system = [
          { type: 'text', text: 'You are a zebra.', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: `Part ${at === 3 ? 'zebra' : 'two'}` },
        ];
        const request = Buffer.from(JSON.stringify({ ...body, tools, system }));
        return { ...call, request, closed: call.closed && { ...call.closed, request_bytes: request.byteLength } };
      }),
    );
    await deriveAll(database());
    await indexAll(database());
    const hits = (await find(prompted, { text: 'ZEBRA' })).filter((line) => 'match' in line);
    assert.equal(
      hits.map(({ place, side, block, match, before }) => [place, side, block, match, before]),
      [
        ['prompt', 'prompt', 0, 'zebra', 'Finds the 晚上 of\na '],
        ['prompt', 'prompt', 1, 'zebra', 'You are a '],
        ['prompt', 'prompt', 2, 'zebra', 'Part '],
      ],
    );
    assert.is(hits[0].raw_turn_id, hits[1].raw_turn_id);
    assert.is.not(hits[1].raw_turn_id, hits[2].raw_turn_id);
    const block = await (await api().request(`/v1/raw_turns/${hits[1].raw_turn_id}/blocks/1`)).json();
    assert.match(JSON.stringify(block), 'You are a zebra.');
    for (const [text, count] of [
      ['zebra', 3],
      ['晚上', 1],
      ['ephemeral', 0],
      ['zeb', 3],
    ] as const) {
      const { items } = await (await api().request(`/v1/find?${new URLSearchParams({ text, in: 'prompt' })}`)).json();
      assert.is(items.length, count, text);
      for (const { session_id: id, place, matches } of items)
        assert.equal([id, place, matches[0].side], [prompted, 'prompt', 'prompt']);
    }
    const opened = await database().execute('openPurge', { session_id: prompted });
    assert.ok((await database().sql('select 1 from svc.found_prompts')).length > 0);
    await database().execute('purgeSession', {
      session_id: prompted,
      up_to: opened?.up_to ?? 0,
      made: [],
      reason: 'test',
    });
    for (const table of ['found_prompts', 'found_prompt_uses'])
      assert.equal(await database().sql(`select 1 from svc.${table}`), [], table);
  });

  test('however many matches end a page, those of all pages are the same, in the same order', async () => {
    for (const text of SOUGHT) {
      const all = await pagesOf(text, 1_000_000);
      for (const most of [1, 2, 7]) {
        const pages = await pagesOf(text, most);
        assert.ok(
          pages.every(({ matches }) => matches.length <= most),
          text,
        );
        assert.equal(
          pages.flatMap(({ matches }) => matches),
          all.flatMap(({ matches }) => matches),
          text,
        );
        assert.is(sum(pages.map(({ searched }) => searched)), sum(all.map(({ searched }) => searched)), text);
      }
    }
  });

  /** All pages of the search in every place, each with so many matches at most. */
  const pagesOf = async (text: string, most: number): Promise<SearchedPage[]> => {
    const pages: SearchedPage[] = [];
    const places = ['conversation', 'tools', 'thinking'] as const;
    for (let start: FindStart | null = null, more = true; more; ) {
      const scope = { session_id, thread: null, text, places, start, limit: 3, most };
      const page: SearchedPage = await database().execute('findInSession', scope);
      pages.push(page);
      start = page.next;
      more = start !== null;
    }
    return pages;
  };

  test('of a letter that stands everywhere no chunk holds more than a thousand places, and each place is in one', async () => {
    const letters = 'ab'.repeat(22_000);
    const call = journalCall('many', { at: 1, call_id: 'many', says: [user(letters)], answers: answer('done') });
    const system = [{ type: 'text', text: letters }];
    const request = Buffer.from(JSON.stringify({ ...JSON.parse(String(call.request)), system }));
    const closed = call.closed && { ...call.closed, request_bytes: request.byteLength };
    const [many = ''] = await storeCalls(database(), [{ ...call, request, closed }]);
    await deriveAll(database());
    const { body } = await api().request(`/v1/sessions/${many}/find?text=B`);
    const chunks: string[] = [];
    for await (const chunk of body ?? []) chunks.push(Buffer.from(chunk).toString());
    const counts = chunks.map((chunk) => chunk.split('\n').length - 1);
    assert.ok(Math.max(...counts) <= 1_000, `${Math.max(...counts)} lines in a chunk`);
    const lines: Json[] = chunks
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const side of ['input', 'prompt'])
      assert.equal(
        lines.filter((line) => line.side === side).map(({ start }) => start),
        Array.from({ length: 22_000 }, (_, i) => 2 * i + 1),
        side,
      );
    const [cut, ...whole] = lines.filter((line) => 'searched' in line);
    assert.ok(cut.searched < cut.of && !cut.complete, 'the first page ends within a span');
    assert.equal(whole, [
      { searched: cut.of, of: cut.of, complete: false },
      { searched: cut.of, of: cut.of, complete: true },
    ]);
  });

  test('a session that is not there, or deleted', async () => {
    const status = async (id: string) => {
      const response = await api().request(`/v1/sessions/${id}/find?text=a`);
      return [response.status, Problem.parse(await response.json()).code];
    };
    assert.equal(await status('7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10'), [404, 'session-unknown']);
    await database().execute('deleteSession', { session_id });
    assert.equal(await status(session_id), [404, 'session-unknown']);
  });

  test('HEAD has the status and the head of GET', async () => {
    for (const [id, query] of [
      [session_id, 'text=a'],
      [session_id, 'text='],
      ['7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', 'text=a'],
    ]) {
      const path = `/v1/sessions/${id}/find?${query}`;
      const [get, head] = [await api().request(path), await api().request(path, { method: 'HEAD' })];
      assert.equal(
        [head.status, head.headers.get('content-type')],
        [get.status, get.headers.get('content-type')],
        path,
      );
      assert.is(await head.text(), '');
      await get.text();
    }
  });
});

/** What a person reads in a span: not the calls of tools within an answer, which have spans of their own. */
const textsOfSpan = ({ kind, input, output }: Span): string[] =>
  [...input, ...output].filter(({ type }) => kind === 'tool' || type !== 'tool_use').flatMap(textsOf);

const textsOf = ({ text, thinking, tool_output, tool_input }: ContentBlock): string[] =>
  [text, thinking, tool_output].filter((one) => one !== undefined).concat(strings(tool_input));

const strings = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
};

const occurrences = (within: string, sought: string): number =>
  within.toLowerCase().split(sought.toLowerCase()).length - 1;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
