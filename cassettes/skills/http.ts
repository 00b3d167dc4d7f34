/** What has each request of skills? The bindings, who asks, and a JSON body that was read whatever it calls itself. */
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

/** Whom the gateway vouches for; null: nobody. The service takes the header off what others send. */
export const callerOf = (c: Context<SkillsHttp>): string | null => c.req.header('x-svc-auth-subject')?.trim() || null;

const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Reads the body as JSON, whatever its content type is: what is none is an invalid body, and nothing else.
 * @param optional nothing at all counts as `{}`
 */
export const jsonBody =
  ({ optional = false } = {}): MiddlewareHandler<SkillsHttp> =>
  async (c, next) => {
    const text = await bodyText(c.req.raw.body, MOST_BYTES);
    if (text === null) throw new SkillRefusal('body-too-large', 'Cannot read the body: it is larger than 4 MiB');
    const seen = optional && text.trim() === '' ? '{}' : text;
    try {
      JSON.parse(seen);
    } catch {
      throw new SkillRefusal('bad-request', 'Cannot read the body: it is no JSON');
    }
    c.req.raw.headers.set('content-type', 'application/json'); // else the validator passes it over
    c.req.bodyCache.text = Promise.resolve(seen) as never; // where the validator looks; Hono keeps promises there
    await next();
  };
