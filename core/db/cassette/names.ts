/** Names and login of a cassette's schema and role. They follow from the name that it is installed under. */
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { installation } from '../installation.ts';
import type { Sql } from '../sql.ts';

/** The schema in which the service creates `vector`, and the one of the functions in which statements run. */
export const EXTENSIONS = 'svc_extensions';
export const CALLS = 'svc_cassettes';

/** Also the name of the function in which its statements run. Hyphens become underscores; no name has both. */
export function schemaOf(name: string): string {
  if (!/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/.test(name)) throw new Error(`Cannot name a schema after '${name}'`);
  return `cassette_${name.replaceAll('-', '_')}`;
}

/** Roles belong to all databases of a server: the oid of the database makes them unique, and stays when it is renamed. */
export async function roleOf(db: Sql, name: string): Promise<string> {
  if (db.kind === 'embedded') return schemaOf(name);
  const [row] = await db.rows<{ oid: number }>(sql`select oid from pg_database where datname = current_database()`);
  return `${schemaOf(name)}_${row?.oid}`;
}

export type Login = { user: string; password: string };

/** Every process of this installation computes it; it is stored nowhere. */
export async function cassetteLogin(db: Sql, { name }: { name: string }): Promise<Login> {
  const user = await roleOf(db, name);
  const { identity_key } = await installation(db, {});
  return { user, password: hmac(identity_key, `password ${user}`).toString('hex') };
}

/** What a server stores in place of the password (RFC 5803), so that no statement, and no log of statements, ever holds it. */
export function scramVerifier({ user, password }: Login): string {
  const rounds = 4096;
  const salt = hmac(password, `salt ${user}`).subarray(0, 16); // deterministic, so that replicas agree
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256');
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const server = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${stored}:${server}`;
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
