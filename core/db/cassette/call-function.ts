/**
 * The function in which a cassette's statements run: owned by the cassette's role, with that role's rights. Inside it PostgreSQL
 * itself refuses every change of role, whoever called it, and at its end restores the settings of its start.
 */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';
import { CALLS } from './names.ts';

/**
 * `count`: the number of changed rows, as one text. Else the rows as JSON, each an object or an array in the order of columns: texts of
 * some 64 KiB with commas between their rows, so that a million small rows are not a million texts.
 */
export type ResultShape = 'object' | 'array' | 'count';

const TEXT_BYTES = 64 * 1024;

type CallOptions = {
  schema: string;
  role: string;
  /** Schemas in which its statements find what they do not qualify. */
  path: readonly string[];
  /** Others that hold while it runs, as `name = value`. */
  settings: readonly string[];
};

/**
 * The statement is run by `for … in execute` (a cursor takes one statement that returns rows) or `execute` (which refuses COMMIT).
 * The check of `current_user` guards against `alter function … security invoker`: a function's owner may do that, but cannot change
 * its body without rights on the schema.
 */
const text = ({ schema, role, path, settings }: CallOptions) => `
create or replace function ${CALLS}."${schema}"(statement text, shape text, most_bytes bigint) returns setof text
language plpgsql volatile security definer
set search_path = ${[...path.map((each) => `"${each}"`), 'pg_temp'].join(', ')}
set standard_conforming_strings = on
set backslash_quote = safe_encoding
set bytea_output = hex
${settings.map((each) => `set ${each}`).join('\n')}
as $svc$
declare
  found record;
  line text;
  lines text[] := '{}';
  pending bigint := 0;
  bytes bigint := 0;
  changed bigint;
begin
  if current_user <> '${role}' then
    raise exception 'a statement of ${schema} would run as another role' using errcode = '42501';
  end if;
  if shape = 'count' then
    execute statement;
    get diagnostics changed = row_count;
    return next changed::text;
    return;
  end if;
  for found in execute statement loop
    if shape = 'array' then
      select coalesce(pg_catalog.json_agg(member.value order by member.ordinality), '[]')::text into line
        from pg_catalog.json_each(pg_catalog.to_json(found)) with ordinality as member;
    else
      line := pg_catalog.to_json(found)::text;
    end if;
    pending := pending + pg_catalog.octet_length(line);
    bytes := bytes + pg_catalog.octet_length(line);
    if bytes > most_bytes then
      raise exception 'its rows are larger than % MB: ask for fewer, or stream them', most_bytes >> 20 using errcode = '54000';
    end if;
    lines := pg_catalog.array_append(lines, line);
    if pending >= ${TEXT_BYTES} then
      return next pg_catalog.array_to_string(lines, ',');
      lines := '{}';
      pending := 0;
    end if;
  end loop;
  if pending > 0 then
    return next pg_catalog.array_to_string(lines, ',');
  end if;
end $svc$`;

export async function makeCall(tx: Sql, options: CallOptions): Promise<void> {
  const { schema, role } = options;
  const call = sql`${sql.identifier(CALLS)}.${sql.identifier(schema)}(text, text, bigint)`;
  const [owner, calls] = [sql.identifier(role), sql.identifier(CALLS)];
  await tx.rows(sql.raw(text(options)));
  await tx.rows(sql`revoke all on function ${call} from public`);
  await tx.rows(sql`grant usage, create on schema ${calls} to ${owner}`); // the new owner of a function needs the right to create it
  await tx.rows(sql`alter function ${call} owner to ${owner}`);
  await tx.rows(sql`revoke create on schema ${calls} from ${owner}`);
}
