/** The key of this installation, which hashes client credentials: sessions can be distinguished by them, and no credential is stored. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';

export async function installation(sql: Sql, _args: Record<string, never>): Promise<{ identity_key: string }> {
  const [row] = await sql.rows<{ identity_key: string }>(
    statement`select encode(identity_key, 'hex') as identity_key from svc.installation`,
  );
  if (!row) throw new Error('Cannot read the installation: its row is missing');
  return row;
}

/** Takes another key into a database that holds no turn yet. @param identity_key 64 hex digits */
export async function adoptIdentityKey(sql: Sql, { identity_key }: { identity_key: string }): Promise<void> {
  await sql.rows(statement`
    update svc.installation set identity_key = decode(${identity_key}, 'hex')
    where not exists (select from svc.raw_turns)
  `);
}
