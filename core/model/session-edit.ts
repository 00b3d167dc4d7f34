/** The edit of a session by a person, who can change its display name and star it. */
import { z } from '@hono/zod-openapi';

const LONGEST = 200;

/** An emoji counts as one character, not as the two or more units that JavaScript has for it. */
const isShort = (name: string) => [...name].length <= LONGEST;

export const SessionEdit = z
  .strictObject({
    display_name: z
      .string()
      .trim()
      .refine(isShort, `must have ${LONGEST} characters at most`)
      .nullable()
      .optional()
      .describe(`at most ${LONGEST} characters, trimmed first; null or nothing takes the name away`),
    starred: z.boolean().optional().describe('whether it carries a star'),
  })
  .refine(({ display_name, starred }) => display_name !== undefined || starred !== undefined, {
    message: 'must have "display_name", "starred" or both',
  })
  .openapi('SessionEdit', {
    anyOf: [{ required: ['display_name'] }, { required: ['starred'] }],
    examples: [{ display_name: 'The carry, at last' }, { display_name: null }, { starred: true }],
  });
