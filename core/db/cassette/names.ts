/** What are a cassette's schema and role called? Both follow the name that it is installed under. */
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { installation } from '../installation.ts';
import type { Sql } from '../sql.ts';

/** Where `vector` goes when we make it, and where the functions lie that statements run in. */
export const EXTENSIONS = 'svc_extensions';
export const CALLS = 'svc_cassettes';

/** Also the name of the function that its statements run in. Hyphens become underscores; no name has both. */
export function schemaOf(name: string): string {
  if (!/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/.test(name)) throw new Error(`Cannot name a schema after '${name}'`);
  return `cassette_${name.replaceAll('-', '_')}`;
}

/** Roles belong to all databases of a server: the number of ours tells them apart, and stays when it is renamed. */
export async function roleOf(db: Sql, name: string): Promise<string> {
  if (db.kind === 'embedded') return schemaOf(name);
  const [row] = await db.rows<{ oid: number }>(sql`select oid from pg_database where datname = current_database()`);
  return `${schemaOf(name)}_${row?.oid}`;
}

export type Login = { user: string; password: string };

/** Every process of this installation works it out for itself; nowhere is it written down. */
export async function cassetteLogin(db: Sql, { name }: { name: string }): Promise<Login> {
  const user = await roleOf(db, name);
  const { identity_key } = await installation(db, {});
  return { user, password: keyed(identity_key, `password ${user}`).toString('hex') };
}

/** What a server keeps in place of the password (RFC 5803), so that no statement, and no log of statements, ever holds it. */
export function scramVerifier({ user, password }: Login): string {
  const rounds = 4096;
  const salt = keyed(password, `salt ${user}`).subarray(0, 16); // the same again, so that replicas agree
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256');
  const stored = createHash('sha256').update(keyed(salted, 'Client Key')).digest('base64');
  const server = keyed(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${stored}:${server}`;
}

const keyed = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
