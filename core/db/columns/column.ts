/**
 * Columns: what is known of one value of a record, from its table to its JSON. A record's columns are listed once, in the shape of its
 * JSON; the select list, the type of the rows, their mapping to the model and the types of what is written are made of that list.
 */
import { type SQL, sql } from 'drizzle-orm';
import { instantText } from '../literals.ts';

/** PostgreSQL's types, with the types in which their values are written and read here. */
type PgTypes = {
  uuid: string;
  text: string;
  'text[]': string[];
  timestamptz: string;
  integer: number;
  'integer[]': number[];
  bigint: number;
  numeric: string;
  boolean: boolean;
  jsonb: unknown;
  bytea: string; // hex
};
export type PgType = keyof PgTypes;

/** The types that can hold a value. */
type TypeFor<Value> = { [Type in PgType]: NonNullable<Value> extends PgTypes[Type] ? Type : never }[PgType];

/** `Read`: the value of a row. `Shown`: what the model has for it, undefined where the member is left out. */
export type Column<Table extends string | null, Name extends string, Read, Shown> = {
  table: Table; // its alias in queries; null: not a column of the projection
  name: Name; // in the table and in rows
  type: PgType;
  select: string; // the expression that reads it
  show: (value: Read) => Shown;
};
type AnyColumn = Column<string | null, string, never, unknown>;

const unchanged = <Value>(value: Value): Value => value;

/** What makes the columns of a table of the projection: `Row` is what the fold writes, or null where its table is a left join. */
export const columnsOf =
  <Table extends string, Row>(table: Table) =>
  <Name extends keyof Row & string>(
    name: Name,
    type: TypeFor<Row[Name]>,
  ): Column<Table, Name, Row[Name], Row[Name]> => ({
    ...{ table, name, type },
    select: read(type, `${table}.${name}`),
    show: unchanged,
  });

/** A value that the fold does not write, from any expression. */
export const expression = <Name extends string, Type extends PgType>(
  name: Name,
  type: Type,
  text: string,
): Column<null, Name, PgTypes[Type], PgTypes[Type]> => ({
  ...{ table: null, name, type },
  select: read(type, text),
  show: unchanged,
});

const read = (type: PgType, text: string): string => {
  if (type === 'timestamptz') return instantText(text);
  return type === 'bytea' ? `encode(${text}, 'hex')` : text;
};

/** The same column, read by another expression. */
export const readAs = <Own extends AnyColumn>(column: Own, select: string): Own => ({ ...column, select });

/** Never null: a literal of SQL stands in where a left join has no row. */
export const orElse = <Table extends string | null, Name extends string, Value>(
  column: Column<Table, Name, Value, Value>,
  literal: string,
): Column<Table, Name, NonNullable<Value>, NonNullable<Value>> => ({
  ...column,
  select: `coalesce(${column.select}, ${literal})`,
  show: unchanged,
});

/** Left out where it is null, as is a text that is empty. */
export const optional = <Table extends string | null, Name extends string, Read, Shown>(
  column: Column<Table, Name, Read, Shown>,
): Column<Table, Name, Read | null, Exclude<Shown, null | ''> | undefined> => ({
  ...column,
  select: column.type === 'text' ? `nullif(${column.select}, '')` : column.select,
  show: (value) =>
    (value === null ? undefined : (column.show(value) ?? undefined)) as Exclude<Shown, null | ''> | undefined,
});

/** Shown otherwise than it is stored. */
export const shownAs = <Table extends string | null, Name extends string, Read, Before, Shown>(
  column: Column<Table, Name, Read, Before>,
  show: (value: Before) => Shown,
): Column<Table, Name, Read, Shown> => ({ ...column, show: (value) => show(column.show(value)) });

/** A count that is left out where it is 0. */
export const nonZero = <Table extends string | null, Name extends string>(
  column: Column<Table, Name, number, number>,
): Column<Table, Name, number, number | undefined> => shownAs(column, (count) => count || undefined);

/** Money as a JSON number; null stays null, since an unknown price is not 0. */
export const usd = (exact: string | null): number | null => (exact === null ? null : Number(exact));

/** Money that is stored exactly. */
export const money = <Table extends string | null, Name extends string>(
  column: Column<Table, Name, string | null, string | null>,
): Column<Table, Name, string | null, number | null> => shownAs(column, usd);

/** The list of a model's columns: a column for each member, or a list for a member that is an object of members. */
export type ColumnsFor<Model> = {
  [Key in keyof Model]-?: Column<string | null, string, never, Model[Key]> | Members<Model[Key]>;
};
type Members<Value> = Value extends readonly unknown[] ? never : Value extends object ? ColumnsFor<Value> : never;

type ColumnsIn<List> = List extends AnyColumn ? List : { [Key in keyof List]: ColumnsIn<List[Key]> }[keyof List];
type NameOf<Each, Table = string | null> = Each extends { table: Table; name: infer Name extends string }
  ? Name
  : never;
type ReadOf<Each> = Each extends { show: (value: infer Read) => unknown } ? Read : never;

/** The rows that a list's columns are read as. */
export type RowOf<List> = { [Each in ColumnsIn<List> as NameOf<Each>]: ReadOf<Each> };

type List = { readonly [key: string]: AnyColumn | List };

const isColumn = (entry: AnyColumn | List): entry is AnyColumn => typeof entry.show === 'function';

/** The columns of a list, in its order. */
export const columnsIn = (list: List): AnyColumn[] =>
  Object.values(list).flatMap((entry) => (isColumn(entry) ? [entry] : columnsIn(entry)));

/** The select list of a list's columns. */
export const selectOf = (list: List): SQL =>
  sql.raw(
    columnsIn(list)
      .map(({ select, name }) => `${select} as ${name}`)
      .join(', '),
  );

/** PostgreSQL's types of those of a list's columns that are of a table. */
export const typesOf = <Own extends List, Table extends string>(list: Own, table: Table) =>
  Object.fromEntries(
    columnsIn(list).flatMap((column) => (column.table === table ? [[column.name, column.type]] : [])),
  ) as Record<NameOf<ColumnsIn<Own>, Table>, PgType>;

/** The mapping of a row to its model: members in the order of the list. Rows are many, so the list is read here once. */
export const mapping = <Model, Row extends object>(list: ColumnsFor<Model>): ((row: Row) => Model) =>
  membersOf(list as unknown as List) as (row: object) => Model;

function membersOf(list: List): (row: Record<string, never>) => unknown {
  const members = Object.entries(list).map(
    ([key, entry]) => [key, isColumn(entry) ? shownValue(entry) : membersOf(entry)] as const,
  );
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const [key, valueIn] of members) {
      const value = valueIn(row);
      if (value !== undefined) record[key] = value;
    }
    return record;
  };
}

const shownValue =
  ({ name, show }: AnyColumn) =>
  (row: Record<string, never>): unknown =>
    show(row[name] as never);
