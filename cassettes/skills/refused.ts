/** The refusals of skills: problems, as in the read API; of the database's failures they say only that there was one. */
import type { Context, ErrorHandler } from 'hono';
import { onError } from '../../core/http/failure.ts';
import { problem } from '../../core/http/problem.ts';
import type { SkillsHttp } from './manifest.ts';

const STATUS = {
  'bad-request': 400,
  'creator-mismatch': 403,
  'skill-unknown': 404,
  'session-unknown': 404,
  'body-too-large': 413,
  'nothing-usable': 422,
  'no-llm-key': 422,
  'idempotency-key-reused': 422,
  'generation-failed': 500,
  'database-failed': 500,
  'no-core': 501,
  'no-database': 501,
} as const;
export type SkillRefusalCode = keyof typeof STATUS;

/** A valid request that is refused. */
export class SkillRefusal extends Error {
  override readonly name = 'SkillRefusal';
  readonly code: SkillRefusalCode;
  constructor(code: SkillRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export const noSkill = (what: string) =>
  new SkillRefusal('skill-unknown', `Cannot ${what} the skill: there is none with this id`);

/** The response to any error that a route throws. */
export const answerFailure: ErrorHandler<SkillsHttp> = (thrown, c) => {
  if (thrown instanceof SkillRefusal) {
    if (STATUS[thrown.code] === 500) c.env.LOG.error({ code: thrown.code, ...causeOf(thrown) }, thrown.message);
    return problem(c as Context, STATUS[thrown.code], thrown.code, thrown.message);
  }
  if (thrown.name === 'DatabaseError') {
    const { sqlstate = '' } = thrown as { sqlstate?: string };
    c.env.LOG.error({ reason: thrown.message, sqlstate }, 'Cannot answer a request: the database failed');
    return problem(c as Context, 500, 'database-failed', 'Cannot answer: the database failed over this request');
  }
  return onError(c.env.LOG as unknown as Parameters<typeof onError>[0])(thrown, c);
};

/** Only the name of the cause: messages of libraries quote what they were sent. */
const causeOf = ({ cause }: Error) => (cause instanceof Error ? { cause: cause.name } : {});
