import { PgDialect } from 'drizzle-orm/pg-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  columnsIn,
  columnsOf,
  expression,
  mapping,
  money,
  nonZero,
  optional,
  orElse,
  type RowOf,
  readAs,
  selectOf,
  shownAs,
  typesOf,
} from '../../../../core/db/columns/column.ts';
import { linkColumns } from '../../../../core/db/columns/link.ts';
import { sessionColumns } from '../../../../core/db/columns/session.ts';
import { spanColumns } from '../../../../core/db/columns/span.ts';
import { traceColumns } from '../../../../core/db/columns/trace.ts';

type Row = {
  label: string;
  ended_at: string | null;
  hash: string | null;
  calls: number;
  cost_usd: string | null;
  words: string[];
};
type Model = {
  id: string;
  label?: string | undefined;
  ended_at?: string | undefined;
  hash?: string | undefined;
  sums: { calls?: number | undefined; cost_usd: number | null; last: string | undefined };
};

const written = columnsOf<'w', Row>('w');
const columns = {
  id: expression('id', 'uuid', 'o.row_id'),
  label: optional(written('label', 'text')),
  ended_at: optional(written('ended_at', 'timestamptz')),
  hash: optional(readAs(written('hash', 'bytea'), 'upper(w.hash)')),
  sums: {
    calls: nonZero(orElse(written('calls', 'integer'), '0')),
    cost_usd: money(written('cost_usd', 'numeric')),
    last: shownAs(written('words', 'text[]'), (words) => words.at(-1)),
  },
} as const;
const shown = mapping<Model, RowOf<typeof columns>>(columns);

const row = { id: 'a', label: 'one', ended_at: 'then', hash: 'FF', calls: 2, cost_usd: '0.10', words: ['x', 'y'] };

const textOf = (list: Parameters<typeof selectOf>[0]) => new PgDialect().sqlToQuery(selectOf(list)).sql;

const test = suite('columns of a record');

test('the select list has each column by its name, whatever groups the list has', () => {
  assert.is(
    textOf(columns),
    [
      'o.row_id as id',
      `nullif(w.label, '') as label`,
      `to_char(w.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ended_at`,
      'upper(w.hash) as hash',
      'coalesce(w.calls, 0) as calls',
      'w.cost_usd as cost_usd',
      'w.words as words',
    ].join(', '),
  );
});

test('bytea is read as hex', () => {
  assert.is(textOf({ hash: written('hash', 'bytea') }), `encode(w.hash, 'hex') as hash`);
});

test('a row is mapped in the order of the list, not in that of the row', () => {
  const reversed = Object.fromEntries(Object.entries(row).reverse()) as typeof row;
  assert.is(
    JSON.stringify(shown(reversed)),
    '{"id":"a","label":"one","ended_at":"then","hash":"FF","sums":{"calls":2,"cost_usd":0.1,"last":"y"}}',
  );
});

test('what has no value is left out where it is optional, and null where it is not', () => {
  assert.equal(shown({ ...row, label: null, ended_at: null, hash: null, calls: 0, cost_usd: null, words: [] }), {
    id: 'a',
    sums: { cost_usd: null },
  } as never);
});

test('what is written are the columns of the table alone', () => {
  assert.equal(typesOf(columns, 'w'), {
    label: 'text',
    ended_at: 'timestamptz',
    hash: 'bytea',
    calls: 'integer',
    cost_usd: 'numeric',
    words: 'text[]',
  });
});

test('each record names a column once', () => {
  for (const list of [sessionColumns, traceColumns, spanColumns, linkColumns]) {
    const names = columnsIn(list).map(({ name }) => name);
    assert.equal(names, [...new Set(names)]);
  }
});

test.run();
