/** What a database has of its own: the key of this installation, which hashes client credentials, so that none is stored; and its times. */
import { sql as statement } from 'drizzle-orm';
import { checkpoint } from './checkpoint.ts';
import type { Sql } from './sql.ts';

/** `installation_id` names this database and no copy of its beginnings; the key cannot be found from it. */
export type Installation = { identity_key: string; installation_id: string };

export async function installation(sql: Sql, _args: Record<string, never>): Promise<Installation> {
  const [row] = await sql.rows<Installation>(
    statement`
    select encode(identity_key, 'hex') as identity_key,
           encode(substr(sha256(identity_key || convert_to(extract(epoch from created_at)::text, 'UTF8')), 1, 16), 'hex') as installation_id
      from svc.installation`,
  );
  if (!row) throw new Error('Cannot read the installation: its row is missing');
  return row;
}

/** Makes a copy of the template (client/template.ts) an installation: its key and its times, before its first use, and on the disk. */
export async function ensureInstallation(sql: Sql): Promise<void> {
  const made = await sql.rows(statement`
    with made as (
      insert into svc.installation (identity_key)
      select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))
       where not exists (select 1 from svc.installation)
      returning created_at
    )
    update svc_meta.migrations set applied_at = made.created_at from made returning name`);
  if (made.length > 0) await checkpoint(sql, {});
}

/** Takes away what is an installation's own, for a template. */
export const removeInstallation = (sql: Sql): Promise<unknown> => sql.rows(statement`delete from svc.installation`);
