/** How long does it take to find a text among all spans, and in one session, and what does the index of texts weigh? */
import type { readApi } from '../../core/api/app.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { indexAll } from '../support/index-all.ts';
import { idOf, insertRollups, insertSessions, insertSpans, insertTraces } from '../support/projection-rows.ts';
import { type Json, testApi } from '../support/read-api.ts';
import { bounded, heading, ms, percentiles, row } from './figures.ts';

const SPANS = 100_000;
const SESSION = 10_000; // spans of the first session; of each other a hundred
const OTHERS = 100;
const PART = 1_000; // spans of one insert
const ASKS = 40;
const MOST_MS = 100;

export async function benchFind(): Promise<void> {
  for (const kind of ['embedded', 'server'] as const) {
    const dsn = process.env.SVC_TEST_DSN;
    if (kind === 'server' && !dsn) {
      row('server', 'SVC_TEST_DSN is not set');
      continue;
    }
    const options = { statementTimeoutMs: 600_000 };
    const database = kind === 'server' ? await serverDatabase(dsn ?? '', options) : await embeddedDatabase(options);
    try {
      await benchDatabase(kind, database);
    } finally {
      await database.close();
    }
  }
}

async function benchDatabase(kind: string, database: TestDatabase): Promise<void> {
  const characters = await putSpans(database);
  const began = performance.now();
  await indexAll(database);
  const seconds = (performance.now() - began) / 1000;
  heading(
    `Find, ${kind}: ${SPANS} spans of ${Math.round(characters / SPANS)} characters, put into the index at ${Math.round(SPANS / seconds)}/s`,
  );
  const [size] = await database.sql(
    `select pg_total_relation_size('svc.found_texts') as found, pg_total_relation_size('svc.spans') as spans,
            pg_relation_size('svc.found_texts_terms') as terms, pg_relation_size('svc.found_texts') as heap`,
  );
  const perSpan = (bytes: unknown) => `${Math.round(Number(bytes) / SPANS)} B`;
  row(
    'bytes of a span: itself, in the index of texts',
    perSpan(size?.spans),
    perSpan(size?.found),
    perSpan(size?.terms),
    perSpan(size?.heap),
  );
  const api = testApi({ execute: database.execute });
  row('', 'p50', 'p99', 'hits');
  for (const [name, texts] of Object.entries(QUERIES)) await benchQueries(api, name, texts);
  await benchSession(api);
}

type Api = ReturnType<typeof readApi>;

async function benchQueries(api: Api, name: string, texts: (ask: number) => string): Promise<void> {
  const samples: number[] = [];
  let hits = 0;
  for (let ask = 0; ask < ASKS; ask += 1) {
    const began = performance.now();
    const response = await api.request(`/v1/find?${new URLSearchParams({ text: texts(ask) })}`);
    const { items }: Json = await response.json();
    samples.push(performance.now() - began);
    hits += items.length;
  }
  const { p50, p99 } = percentiles(samples);
  row(name, ms(p50), ms(p99), (hits / ASKS).toFixed(1), p50 <= MOST_MS ? '' : `missed: at most ${MOST_MS} ms`);
}

/** The first hit, and all of them. */
async function benchSession(api: Api): Promise<void> {
  for (const text of [word(40), 'return', 'nowhere-to-be-found']) {
    const began = performance.now();
    const response = await api.request(`/v1/sessions/${idOf('session', 0)}/find?${new URLSearchParams({ text })}`);
    let first = 0;
    let found = '';
    for await (const chunk of response.body ?? []) {
      found += Buffer.from(chunk).toString();
      if (first === 0 && found.includes('"match"')) first = performance.now() - began;
    }
    bounded(`in a session of ${SESSION} spans, first hit of "${text}"`, first, 300);
    bounded(`all of them (${found.split('"match"').length - 1})`, performance.now() - began, 3_000);
  }
}

const QUERIES: Record<string, (ask: number) => string> = {
  'a rare word': (ask) => word(9_000 + ask),
  'a frequent word': (ask) => word(ask),
  'a part of a word': (ask) => word(500 + ask).slice(1, -1),
  'three words': (ask) => `${word(300 + ask)} ${word(700 + ask)} ${word(20 + ask)}`,
  'an identifier': (ask) => `${word(400 + ask)}_${word(800 + ask)}`,
  'a path': (ask) => `src/${word(200 + (ask % 97))}.ts`,
  'two characters of Chinese': (ask) => chinese(50 + ask).slice(0, 2),
  'a sentence of eight words': (ask) => sentence(77 * ask + 2, 8),
  'a misspelt word': (ask) => misspelt(word(9_000 + ask)),
  'three misspelt words': (ask) => [9_000, 11_000, 13_000].map((rank) => misspelt(word(rank + ask))).join(' '),
  'a long word that is nowhere': (ask) => `${word(9_000 + ask)}${word(7_000 + ask)}`,
  'what is nowhere': (ask) => `qx${ask}zj`,
};

const SYLLABLES = 'ba co di fu ga he ki lo mu na pe qui ro sa ti vu wo xa ye zo tion er ing ment ster'.split(' ');
const COMMON = 'the a of and to in is it return const function import error value file test'.split(' ');

/** The words of a language, the most frequent first. */
function word(rank: number): string {
  const common = COMMON[rank];
  if (common !== undefined) return common;
  let text = '';
  for (let rest = rank + 7; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    text += SYLLABLES[rest % SYLLABLES.length];
  return text;
}

/** With a letter twice. */
const misspelt = (text: string): string => `${text.slice(0, 3)}${text.slice(2)}`;

/** Deterministic, so that two runs compare the same. */
function randomness(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** By Zipf's law: the word of rank r occurs 1/r times as often as the first, of 20,000. */
const ranked = (random: () => number): number => Math.floor(20_000 ** random()) - 1;

function sentence(seed: number, count: number): string {
  const random = randomness(seed);
  return Array.from({ length: count }, () => word(ranked(random))).join(' ');
}

const chinese = (seed: number): string => {
  const random = randomness(seed);
  return Array.from({ length: 12 }, () => String.fromCharCode(0x4e00 + Math.floor(2_500 ** random()))).join('');
};

function code(seed: number, lines: number): string {
  const random = randomness(seed);
  const name = () => word(ranked(random));
  return Array.from(
    { length: lines },
    (_, i) =>
      `${i}:  const ${name()}_${name()} = ${name()}(${name()}, ${Math.floor(random() * 1_000)}); // src/${word(200 + (seed % 97))}.ts`,
  ).join('\n');
}

/** @returns the characters of all texts */
async function putSpans(database: TestDatabase): Promise<number> {
  const sessionOf = (n: number) => (n < SESSION ? 0 : 1 + Math.floor((n - SESSION) / OTHERS));
  const sessions = Array.from({ length: sessionOf(SPANS - 1) + 1 }, (_, n) => ({ n }));
  for (let from = 0; from < sessions.length; from += 500) {
    const part = sessions.slice(from, from + 500);
    await insertSessions(database, part);
    await insertRollups(database, part);
  }
  let characters = 0;
  for (let from = 0; from < SPANS; from += PART) {
    const numbers = Array.from({ length: PART }, (_, i) => from + i);
    const traceOf = (n: number) => Math.floor(n / 20);
    const traces = [...new Set(numbers.map(traceOf))].map((n) => ({ n, session: sessionOf(n * 20) }));
    await insertTraces(database, traces);
    const spans = numbers.map((n) => {
      const texts =
        n % 2 === 0
          ? [sentence(n, 20 + (n % 30)), `${sentence(n + 1, 30 + (n % 200))} ${n % 20 === 0 ? chinese(n % 500) : ''}`]
          : [`grep -rn ${sentence(n, 2)}`, code(n, 1 + (n % 40))];
      characters += texts.join('').length;
      const [first = '', second = ''] = texts;
      const base = {
        n,
        trace: traceOf(n),
        session: sessionOf(n),
        started_at: new Date(1_780_000_000_000 + n * 1_000).toISOString(),
      };
      return n % 2 === 0
        ? {
            ...base,
            model: 'claude-sonnet-4-5',
            input: [{ type: 'text', text: first }],
            output: [{ type: 'text', text: second }],
          }
        : {
            ...base,
            kind: 'tool',
            call_kind: '',
            name: 'Bash',
            model: '',
            input: [{ type: 'tool_use', tool_input: { command: first } }],
            output: [{ type: 'tool_result', tool_output: second }],
          };
    });
    await insertSpans(database, spans);
  }
  await database.sql('analyze svc.spans');
  await database.sql('analyze svc.traces');
  return characters;
}
