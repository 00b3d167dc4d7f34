/** Responses that every route of skills can give besides its own, and the parameters that routes share. */
import { z } from '@hono/zod-openapi';
import { Failure, json } from '../../core/http/routes.ts';

/** The id of a skill in a path; anything else in its place is answered as an unknown path. */
export const OneSkill = z.object({ id: z.uuid().openapi({ examples: ['0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c'] }) });

export const broken = {
  500: json(Failure, 'The database failed', [
    'database-failed',
    'Cannot answer: the database failed over this request',
  ]),
  501: json(Failure, 'This service runs without a database', [
    'no-database',
    'Cannot answer: this service runs without a database',
  ]),
} as const;

export const unknownSkill = (what: string) =>
  ({
    404: json(Failure, 'No such skill', ['skill-unknown', `Cannot ${what} the skill: there is none with this id`]),
  }) as const;

/** @param example the sentence about what is wrong with a body */
export const badBody = (example: string) =>
  ({
    400: json(Failure, 'The body is invalid', ['bad-request', `Cannot read the body: ${example}`]),
    413: json(Failure, 'The body is too large', ['body-too-large', 'Cannot read the body: it is larger than 4 MiB']),
  }) as const;
