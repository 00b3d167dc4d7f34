/** Pages of a list: `limit` items, and `next_cursor` for the next page; where it is absent the list has ended. */
import { z } from '@hono/zod-openapi';

/** Written as a string on the wire, so the number is made here. Above the largest page it is clamped, not refused. */
export const limitOf = (what: string, { usual, largest }: { usual: number; largest: number }) =>
  z
    .string()
    .regex(/^0*[1-9]\d*$/, 'must be a positive whole number')
    .default(String(usual))
    .transform((digits) => Math.min(Number(digits), largest))
    .openapi({
      type: 'integer',
      minimum: 1,
      default: usual,
      description: `${what}; above ${largest} it is ${largest}`,
    });

export const Limit = limitOf('items in a page', { usual: 50, largest: 200 });

export const Cursor = z
  .string()
  .max(2048)
  .optional()
  .openapi({ description: 'next_cursor of the page before; belongs to the list and parameters that gave it' });

export const cursorExample = 'WzEsIlNkMlgiLDEyXQ';

export const NextCursor = z.string().optional().describe('absent on the last page');

/** `preview` shortens strings and leaves image bytes out; `full` is what was captured. */
export const Payload = z
  .enum(['full', 'preview'])
  .default('full')
  .describe('preview: strings are cut, images left out');
export type Payload = z.infer<typeof Payload>;

/** An instant in UTC with microseconds. */
export const At = z.string().openapi({ format: 'date-time' });

/** An id in a path or a query. A path with anything else in its place matches no route. */
export const Id = z.uuid().openapi({ examples: ['7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10'] });

/** A raw turn's number in a path. */
export const RawTurnId = z
  .string()
  .regex(/^[1-9]\d{0,14}$/)
  .transform(Number)
  .openapi({ type: 'integer', minimum: 1, maximum: 999_999_999_999_999, examples: [12] });

/** An instant out of a cursor. PostgreSQL knows no year 0. */
export const KeyInstant = z.iso.datetime().regex(/^(?!0000)/);
