/** What do the stored messages come to? Counts and sums over those that a filter matches. (Seed, 'Stats aggregate'.) */
import { z } from '@hono/zod-openapi';

/** Equality with an attribute of the messages; an empty parameter is an absent one. */
const Attribute = z
  .string()
  .optional()
  .transform((value) => value || null);

const STAMP =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;

/** One side of the window, as `instantAfter` has it; null: open. */
const Bound = z
  .string()
  .optional()
  .transform((stamp, context) => {
    if (!stamp) return null;
    const instant = instantAfter(stamp);
    if (instant !== null) return instant;
    context.addIssue(
      'must be an RFC 3339 timestamp such as 2026-07-27T09:30:00Z or 2026-07-27T11:30:00%2B02:00 ("+" written as %2B)',
    );
    return z.NEVER;
  });

export const StatsQuery = z.object({
  project: Attribute.openapi({ type: 'string', description: 'messages of this project' }),
  agent_name: Attribute.openapi({ type: 'string', description: 'messages of calls by this agent' }),
  model: Attribute.openapi({ type: 'string', description: 'messages of calls to this model, as the answer names it' }),
  provider: Attribute.openapi({ type: 'string', description: 'messages of calls to this provider' }),
  since: Bound.openapi({ type: 'string', format: 'date-time', description: 'messages made then or later; RFC 3339' }),
  until: Bound.openapi({ type: 'string', format: 'date-time', description: 'messages made before; RFC 3339' }),
});

/** All that is not null must hold. `since` is within the window, `until` is not; both as `instantAfter` has them. */
export type StatsFilter = z.infer<typeof StatsQuery>;

export const Stats = z
  .object({
    session_count: z.int().describe('sessions with a matching head: a message that none of the conversation follows'),
    turn_count: z.int().describe('matching messages, each stored once in its session'),
    root_count: z.int().describe('matching messages with which a conversation begins'),
    completed_count: z
      .int()
      .describe('sessions with a matching head that is an answer stopped by stop, end_turn, end-turn or eos'),
    total_cost: z.number().describe('USD, of the matching answers that have a price'),
    input_tokens: z.int().describe('of the matching answers; cache reads and writes included'),
    output_tokens: z.int().describe('of the matching answers; reasoning included'),
    total_duration_ns: z
      .number() // `z.int()` ends at 2^53, which is 104 days; every whole microsecond above is told apart all the same
      .openapi({ type: 'integer', description: 'from the first matching message to the last' }),
    tool_calls: z.int().describe('tool calls in matching messages'),
    unpriced_models: z.array(z.string()).describe('models with tokens that have no price, so are not in total_cost'),
  })
  .openapi('Stats', {
    examples: [
      {
        session_count: 2,
        turn_count: 31,
        root_count: 2,
        completed_count: 1,
        total_cost: 0.213_405,
        input_tokens: 184_201,
        output_tokens: 3_120,
        total_duration_ns: 671_877_056_000,
        tool_calls: 7,
        unpriced_models: ['llama3'],
      },
    ],
  });
export type Stats = z.infer<typeof Stats>;

const MINUTE_MS = 60_000;
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The first whole microsecond at or after a timestamp, in UTC; null when it is none. Messages have whole microseconds:
 * those before the timestamp are those before this. Outside the years 1 to 9999 it is PostgreSQL's ±infinity.
 */
function instantAfter(stamp: string): string | null {
  const [, date = '', hour, minute, second, fraction = '', sign, hours, minutes] = STAMP.exec(stamp) ?? [];
  if (!z.iso.date().safeParse(date).success) return null; // no such day
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === '-' ? -1 : 1);
  const nanoseconds = Number(fraction.padEnd(9, '0'));
  const microseconds = Math.ceil(nanoseconds / 1000);
  const whole = Date.parse(`${date}T${hour}:${minute}:00Z`) + Number(second) * 1000 - offset * MINUTE_MS;
  const ms = whole + Math.floor(microseconds / 1000);
  if (ms < FIRST_MS) return '-infinity';
  if (ms > LAST_MS) return 'infinity';
  return new Date(ms).toISOString().replace('Z', `${String(microseconds % 1000).padStart(3, '0')}Z`);
}
