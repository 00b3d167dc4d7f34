/** What requests of skills share: the database, the caller, and a JSON body, which is parsed whatever its content type. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Db } from '../../core/cassette/contract.ts';
import { bodyText } from '../../core/http/body-text.ts';
import type { SkillsHttp } from './manifest.ts';
import { SkillRefusal } from './refused.ts';

/** @throws {SkillRefusal} no-database */
export function databaseOf({ env }: Context<SkillsHttp>): Db {
  if (!env.DB) throw new SkillRefusal('no-database', 'Cannot answer: this service runs without a database');
  return env.DB;
}

/** The caller as the gateway names it; null: unknown. The service removes the header from requests of others. */
export const callerOf = (c: Context<SkillsHttp>): string | null => c.req.header('x-svc-auth-subject')?.trim() || null;

const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Reads the body as JSON, whatever its content type. A body that is no JSON is invalid, and answered as such.
 * @param optional an empty body counts as `{}`
 */
export const jsonBody =
  ({ optional = false } = {}): MiddlewareHandler<SkillsHttp> =>
  async (c, next) => {
    const text = await bodyText(c.req.raw.body, MOST_BYTES);
    if (text === null) throw new SkillRefusal('body-too-large', 'Cannot read the body: it is larger than 4 MiB');
    const json = optional && text.trim() === '' ? '{}' : text;
    try {
      JSON.parse(json);
    } catch {
      throw new SkillRefusal('bad-request', 'Cannot read the body: it is no JSON');
    }
    c.req.raw.headers.set('content-type', 'application/json'); // else the validator skips it
    c.req.bodyCache.text = Promise.resolve(json) as never; // the validator reads the body here; Hono stores promises in it
    await next();
  };
