/** The schemas of cassettes for a backup: their tables, and the statements that make these again. */
import { type SQL, sql } from 'drizzle-orm';
import { CALLS } from '../cassette/names.ts';
import type { Sql } from '../sql.ts';
import { type BackupColumn, columnsOf, plainTexts } from './columns.ts';

/** A migration that has run, as svc.cassette_migrations has it. */
export type AppliedMigration = { name: string; position: number; sha256: string; applied_at: string };

/** `key`: of the primary key. */
export type CassetteTable = { table: string; columns: BackupColumn[]; key: string[] };

/** Names in the statements are not qualified: they run with the cassette's own search path. */
export type CassetteSchema = {
  /** As it is installed. */
  cassette: string;
  schema: string;
  /** Views of svc_v1 that it may read, and whether it uses vectors. */
  views: string[];
  vector: boolean;
  migrations: AppliedMigration[];
  /** They make types, sequences, and tables with their keys. */
  before: string[];
  tables: CassetteTable[];
  /** `column`: of a sequence that belongs to one; its own name may differ elsewhere. */
  sequences: { table: string | null; column: string | null; name: string; last: number }[];
  /** They make what refers to rows: indexes, foreign keys and views. */
  after: string[];
  /** What is there and cannot be made again. */
  left_out: string[];
};

export const cassetteSchemas = (db: Sql, _args: Record<string, never>): Promise<CassetteSchema[]> =>
  db.transaction(async (tx) => {
    await plainTexts(tx);
    // A schema is a cassette's when the function of the same name is there in which its statements run.
    const schemas = await tx.rows<{ schema: string }>(sql`
      select n.nspname as schema
        from pg_namespace n
        join pg_proc p on p.proname = n.nspname and p.pronamespace = to_regnamespace(${CALLS})
       where n.nspname like 'cassette\\_%'
       order by schema`);
    const described: CassetteSchema[] = [];
    for (const { schema } of schemas) described.push(await describe(tx, schema));
    return described;
  });

async function describe(tx: Sql, schema: string): Promise<CassetteSchema> {
  const cassette = schema.slice('cassette_'.length).replaceAll('_', '-');
  const [extension] = await tx.rows<{ schema: string }>(sql`
    select n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'`);
  const path = [schema, ...(extension ? [extension.schema] : [])].map((name) => `"${name}"`).join(', ');
  await tx.rows(sql`select set_config('search_path', ${path}, true)`); // so that names are written without these schemas
  const texts = async (statement: SQL): Promise<string[]> =>
    (await tx.rows<{ text: string }>(statement)).map(({ text }) => text);
  const own = sql`to_regnamespace(quote_ident(${schema}))`;
  const [uses] = await tx.rows<{ vector: boolean; views: string[] }>(sql`
    select exists (select 1 from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relnamespace = ${own}
                    where a.atttypid in (select d.objid from pg_depend d join pg_extension e on e.oid = d.refobjid and e.extname = 'vector'
                                          where d.classid = 'pg_type'::regclass and d.deptype = 'e')) as vector,
           array(select v.relname::text from pg_class v
                   join pg_proc p on p.proname = ${schema} and p.pronamespace = to_regnamespace(${CALLS})
                  where v.relnamespace = 'svc_v1'::regnamespace and v.relkind = 'v'
                    and has_table_privilege(p.proowner, v.oid, 'select')
                  order by 1) as views`);
  const migrations = await tx.rows<AppliedMigration>(sql`
    select name, position, encode(sha256, 'hex') as sha256, applied_at::text as applied_at
      from svc.cassette_migrations where cassette = ${cassette} order by position`);
  const names = await texts(
    sql`select relname as text from pg_class where relnamespace = ${own} and relkind = 'r' order by oid`,
  );
  const tables: CassetteTable[] = [];
  for (const table of names) {
    const columns = await columnsOf(tx, quoted(schema, table));
    const key = await texts(sql`
      select a.attname as text
        from pg_constraint k
       cross join lateral unnest(k.conkey) with ordinality as u (attnum, place)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum
       where k.conrelid = ${quoted(schema, table)}::regclass and k.contype = 'p'
       order by u.place`);
    tables.push({ table, columns, key });
  }
  return {
    ...{ cassette, schema, migrations, tables },
    ...{ views: uses?.views ?? [], vector: uses?.vector ?? false },
    before: [
      ...(await texts(TYPES(own))),
      ...(await texts(SEQUENCES(own))),
      ...(await texts(TABLES(own))),
      ...(await texts(OWNED(own))),
      ...(await texts(CONSTRAINTS(own, sql`k.contype in ('p', 'u', 'c', 'x') and k.conrelid <> 0`))),
    ],
    sequences: await tx.rows<CassetteSchema['sequences'][number]>(sql`
      select c.relname as name, o.relname as "table", a.attname as "column", q.last_value as last
        from pg_class c
        join pg_sequences q on q.schemaname = ${schema} and q.sequencename = c.relname and q.last_value is not null
        left join pg_depend d on d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') and d.refobjsubid > 0
        left join pg_class o on o.oid = d.refobjid
        left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
       where c.relnamespace = ${own} and c.relkind = 'S'
       order by name`),
    after: [
      ...(await texts(INDEXES(own))),
      ...(await texts(ORPHANS(own))),
      ...(await texts(CONSTRAINTS(own, sql`k.contype = 'f'`))),
      ...(await texts(VIEWS(own))),
    ],
    left_out: await texts(sql`
      select c.relname as text from pg_class c
       where c.relnamespace = ${own} and (c.relkind in ('p', 'm', 'f') or c.relispartition or c.relkind = 'r' and exists (
               select 1 from pg_inherits i where i.inhrelid = c.oid))
       order by text`),
  };
}

const quoted = (schema: string, table: string): string => `"${schema}"."${table.replaceAll('"', '""')}"`;

/** Enumerations, composite types and domains, each after those that it may use. */
const TYPES = (own: SQL): SQL => sql`
  select case t.typtype
           when 'e' then format('create type %I as enum (%s)', t.typname,
             (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
           when 'c' then format('create type %I as (%s)', t.typname,
             (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
                from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped))
           else concat(format('create domain %I as %s', t.typname, format_type(t.typbasetype, t.typtypmod)),
             ' default ' || t.typdefault, case when t.typnotnull then ' not null' end,
             (select string_agg(format(' constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), '' order by k.conname)
                from pg_constraint k where k.contypid = t.oid and k.contype = 'c'))
         end as text
    from pg_type t
    left join pg_class c on c.oid = t.typrelid
   where t.typnamespace = ${own} and (t.typtype in ('e', 'd') or t.typtype = 'c' and c.relkind = 'c')
   order by t.oid`;

/** Those of identity columns come with their columns. */
const SEQUENCES = (own: SQL): SQL => sql`
  select format('create sequence %I as %s increment %s minvalue %s maxvalue %s start %s cache %s%s', c.relname,
                format_type(s.seqtypid, null), s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
                case when s.seqcycle then ' cycle' else '' end) as text
    from pg_class c
    join pg_sequence s on s.seqrelid = c.oid
   where c.relnamespace = ${own}
     and not exists (select 1 from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'i')
   order by c.oid`;

const TABLES = (own: SQL): SQL => sql`
  select format('create table %I (%s)', c.relname, (
           select string_agg(concat(
                    format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)),
                    case when a.attcollation <> 0 and a.attcollation <> t.typcollation
                         then (select format(' collate %I', l.collname) from pg_collation l where l.oid = a.attcollation) end,
                    case when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
                         when a.attidentity = 'a' then ' generated always as identity'
                         when a.attidentity = 'd' then ' generated by default as identity'
                         when d.adbin is not null
                         then ' default ' || regexp_replace(pg_get_expr(d.adbin, d.adrelid), '(nextval\\(''(?:[^'']|'''')*'')::regclass\\)', '\\1)', 'g') end,
                    case when a.attnotnull then ' not null' end), ', ' order by a.attnum)
             from pg_attribute a
             join pg_type t on t.oid = a.atttypid
             left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)) as text
    from pg_class c
   where c.relnamespace = ${own} and c.relkind = 'r'
   order by c.oid`;

/** A sequence that goes with its column. */
const OWNED = (own: SQL): SQL => sql`
  select format('alter sequence %I owned by %I.%I', c.relname, o.relname, a.attname) as text
    from pg_class c
    join pg_depend d on d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'a' and d.refobjsubid > 0
    join pg_class o on o.oid = d.refobjid
    join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
   where c.relnamespace = ${own} and c.relkind = 'S'
   order by c.oid`;

/** Not null is a constraint of its own in later versions of PostgreSQL; here it is part of the column. */
const CONSTRAINTS = (own: SQL, which: SQL): SQL => sql`
  select format('alter table %I add constraint %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid)) as text
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
   where c.relnamespace = ${own} and ${which}
   order by k.contype = 'f', k.contype = 'x', c.oid, k.oid`;

const INDEXES = (own: SQL): SQL => sql`
  select replace(pg_get_indexdef(i.indexrelid), format(' ON %I.%I ', n.nspname, c.relname), format(' ON %I ', c.relname)) as text
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
   where c.relnamespace = ${own} and c.relkind = 'r' and i.indisvalid
     and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
   order by i.indexrelid`;

/** Rows that came in while the tables before theirs had been read already refer to nothing: they are younger than the backup. */
const ORPHANS = (own: SQL): SQL => sql`
  select format('delete from %I t where %s and not exists (select 1 from %I o where %s)', c.relname,
                string_agg(format('t.%I is not null', a.attname), ' and ' order by u.place), f.relname,
                string_agg(format('o.%I = t.%I', b.attname, a.attname), ' and ' order by u.place)) as text
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    join pg_class f on f.oid = k.confrelid
   cross join lateral unnest(k.conkey, k.confkey) with ordinality as u (own, other, place)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.own
    join pg_attribute b on b.attrelid = k.confrelid and b.attnum = u.other
   where c.relnamespace = ${own} and k.contype = 'f'
   group by k.oid, c.oid, c.relname, f.relname
   order by c.oid, k.oid`;

const VIEWS = (own: SQL): SQL => sql`
  select format('create view %I as %s', c.relname, rtrim(pg_get_viewdef(c.oid), ' ;')) as text
    from pg_class c where c.relnamespace = ${own} and c.relkind = 'v' order by c.oid`;
