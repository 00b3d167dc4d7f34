/** The model of a skill: an editable head, its published versions, and the spans in which its claims were said. JSON is in camelCase here. */
import { z } from '@hono/zod-openapi';

export const MOST = {
  name: 200,
  description: 1_024,
  tag: 64,
  tags: 50,
  content: 262_144,
  changelog: 10_000,
  sessions: 50,
};

/** Text that PostgreSQL can store: no NUL, no half of a surrogate pair. */
const text = (most: number) =>
  z
    .string()
    .max(most)
    .refine((value) => !/\0|\p{Surrogate}/u.test(value), 'holds a character that no text has');

export const TYPES = ['workflow', 'domain-knowledge', 'prompt-template'] as const;
const Type = z.enum(TYPES);
const Visibility = z.enum(['private', 'team']);
const Tags = z.array(text(MOST.tag)).max(MOST.tags);

const at = () => z.string().openapi({ format: 'date-time' });

const claimExample = {
  text: 'Compare dates in the time zone of the harbour, not in UTC',
  spans: [
    {
      sessionId: '16dd8bce-b2a0-59a6-9baa-d811643b8fe4',
      traceId: '34e1109b-0249-5c88-bd1e-5312ba7082ab',
      spanId: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
    },
  ],
};

export const SkillClaim = z
  .object({
    text: z.string(),
    spans: z.array(z.object({ sessionId: z.uuid(), traceId: z.uuid(), spanId: z.uuid() })),
  })
  .openapi('SkillClaim', {
    description: 'A sentence of the content, and the spans that say so',
    examples: [claimExample],
  });
export type SkillClaim = z.infer<typeof SkillClaim>;

export const skillExample = {
  id: '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c',
  slug: 'test-dates-at-the-harbour',
  parentId: null,
  name: 'Test dates at the harbour',
  description: 'How to find tests that fail around midnight. Use it when a test fails at some hours only.',
  type: 'workflow' as const,
  version: '0.1.1',
  versionNumber: 2,
  visibility: 'private' as const,
  tags: ['testing', 'time'],
  content: '# Test dates at the harbour\n\n1. Compare dates in the time zone of the harbour, not in UTC\n',
  claims: [claimExample],
  isAiGenerated: true,
  originatingSessionIds: ['16dd8bce-b2a0-59a6-9baa-d811643b8fe4'],
  authorId: 'dana@example.com',
  downloadCount: 12,
  createdAt: '2026-11-20T09:30:00Z',
  updatedAt: '2026-11-21T10:00:00Z',
};

export const Skill = z
  .object({
    id: z.uuid(),
    slug: z.string().describe('of its name, as the folder of an agent skill may be called'),
    parentId: z.uuid().nullable().describe('of which it is a duplicate'),
    name: z.string(),
    description: z.string(),
    type: Type,
    version: z.string().describe('of the head: that of the version published last'),
    versionNumber: z.int().describe('the same as a number; 0: none was published'),
    visibility: Visibility,
    tags: z.array(z.string()),
    content: z.string().describe('Markdown'),
    claims: z.array(SkillClaim).describe('the statements of a generated skill that its content still has'),
    isAiGenerated: z.boolean(),
    originatingSessionIds: z.array(z.string()),
    authorId: z.string().nullable().describe('who made it; null: unattributed'),
    downloadCount: z.int(),
    createdAt: at(),
    updatedAt: at(),
  })
  .openapi('Skill', { examples: [skillExample] });
export type Skill = z.infer<typeof Skill>;

export const versionExample = {
  id: '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c-v2',
  skillId: '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c',
  versionNumber: 2,
  semver: '0.1.1',
  publishedAt: '2026-11-21T10:00:00Z',
  changelog: 'Names the time zone',
  name: 'Test dates at the harbour',
  description: 'How to find tests that fail around midnight. Use it when a test fails at some hours only.',
  type: 'workflow' as const,
  tags: ['testing', 'time'],
  content: '# Test dates at the harbour\n\n1. Compare dates in the time zone of the harbour, not in UTC\n',
  authorId: 'dana@example.com',
};

export const Version = z
  .object({
    id: z.string(),
    skillId: z.uuid(),
    versionNumber: z.int().min(1),
    semver: z.string(),
    publishedAt: at(),
    changelog: z.string(),
    name: z.string(),
    description: z.string(),
    type: Type,
    tags: z.array(z.string()),
    content: z.string(),
    authorId: z.string().nullable().describe('who published it'),
  })
  .openapi('SkillVersion', { examples: [versionExample] });
export type Version = z.infer<typeof Version>;

export const Versions = z
  .object({ versions: z.array(Version).describe('the newest first'), totalCount: z.int() })
  .openapi('SkillVersions', { examples: [{ versions: [versionExample], totalCount: 2 }] });

const cursorExample = 'WzEsIlNkMlgiLDEyXQ';
const NextCursor = z.string().optional().describe('absent on the last page');

export const SkillPage = z
  .object({
    items: z.array(Skill),
    next_cursor: NextCursor,
    counts: z
      .object({ all: z.int(), mine: z.int(), team: z.int() })
      .optional()
      .describe('what matches q in each scope; absent with session_id'),
  })
  .openapi('SkillPage', {
    examples: [{ items: [skillExample], next_cursor: cursorExample, counts: { all: 31, mine: 4, team: 9 } }],
  });

const MOST_ITEMS = 100;
const ITEMS = 24;

/**
 * An unknown scope or sort counts as left out. A limit that is no number is refused, as on every list of the service: otherwise a
 * client would not notice that it requested a page that it cannot mean.
 */
export const ListQuery = z.object({
  limit: z
    .string()
    .regex(/^0*[1-9]\d*$/, 'must be a positive whole number')
    .default(String(ITEMS))
    .transform((digits) => Math.min(Number(digits), MOST_ITEMS))
    .openapi({ type: 'integer', minimum: 1, default: ITEMS, description: 'items in a page; above 100 it is 100' }),
  cursor: z
    .string()
    .max(2048)
    .optional()
    .openapi({ description: 'next_cursor of the page before; belongs to the sort, scope and search that gave it' }),
  q: text(1_000).optional().openapi({ description: 'part of the name, the description or a tag' }),
  scope: z.string().optional().transform(scopeOf).openapi({
    type: 'string',
    default: 'all',
    description: 'all, mine (of the caller; without one: unattributed) or team',
  }),
  sort: z
    .string()
    .optional()
    .transform(sortOf)
    .openapi({ type: 'string', default: 'updated', description: 'downloads, else those updated last first' }),
  session_id: z
    .string()
    .optional()
    .openapi({ description: 'only skills generated from this session, all of them on one page' }),
});

export type SkillScope = 'all' | 'mine' | 'team';
export function scopeOf(word: string | undefined): SkillScope {
  return word === 'mine' || word === 'team' ? word : 'all';
}
export type Sort = 'updated' | 'downloads';
export function sortOf(word: string | undefined): Sort {
  return word === 'downloads' ? 'downloads' : 'updated';
}

const Name = text(MOST.name);
const Description = text(MOST.description);
const Content = text(MOST.content);

export const SkillCreation = z
  .object({
    name: Name.optional().describe('blank or left out: "New skill"'),
    description: Description.default(''),
    type: Type.default('workflow'),
    visibility: Visibility.default('private'),
    tags: Tags.default([]),
    content: Content.default(''),
  })
  .openapi('SkillCreation', {
    examples: [
      { name: 'Roll back a release', description: 'How to take a release back', tags: ['release'], content: '1. …' },
    ],
  });
export type SkillCreation = z.infer<typeof SkillCreation>;

export const SkillUpdate = z
  .object({
    name: Name.regex(/\S/, 'must not be blank').optional(),
    description: Description.optional(),
    type: Type.optional(),
    visibility: Visibility.optional(),
    tags: Tags.optional(),
    content: Content.optional(),
  })
  .openapi('SkillUpdate', { description: 'What is left out stays', examples: [{ tags: ['release', 'urgent'] }] });
export type SkillUpdate = z.infer<typeof SkillUpdate>;

export const Publication = z
  .object({
    content: Content.optional().describe('becomes that of the head too; left out: the head as it is'),
    changelog: text(MOST.changelog).default(''),
  })
  .openapi('SkillPublication', { examples: [{ changelog: 'Names the time zone' }] });
export type Publication = z.infer<typeof Publication>;

export const Generation = z
  .object({
    sessionIds: z.array(z.string().max(200)).min(1, 'must name at least one session').max(MOST.sessions),
    hint: z
      .object({
        name: Name.optional(),
        description: Description.optional().describe('what the skill should be about'),
        type: Type.optional(),
        tags: Tags.optional(),
      })
      .optional()
      .describe('name, type and tags are taken as they are'),
  })
  .openapi('SkillGeneration', {
    examples: [{ sessionIds: ['16dd8bce-b2a0-59a6-9baa-d811643b8fe4'], hint: { name: 'Test dates at the harbour' } }],
  });
export type Generation = z.infer<typeof Generation>;

/** A skill in an agent's list: what shows whether it is worth reading. */
const SkillHead = Skill.pick({ id: true, slug: true, name: true, description: true, type: true, version: true }).extend(
  {
    tags: z.array(z.string()),
    downloadCount: z.int(),
    updatedAt: at(),
  },
);
const { id, slug, name, description, type, version, tags, downloadCount, updatedAt } = skillExample;
const headExample = { id, slug, name, description, type, version, tags, downloadCount, updatedAt };

export const ListArguments = z
  .object({
    q: text(1_000).optional().describe('part of the name, the description or a tag'),
    scope: z.enum(['all', 'mine', 'team']).default('all'),
    sort: z.enum(['updated', 'downloads']).default('updated'),
    limit: z.int().min(1).max(MOST_ITEMS).default(ITEMS),
    cursor: z.string().max(2048).optional().describe('next_cursor of the page before, with the same q, scope and sort'),
  })
  .openapi('SkillListArguments', { examples: [{ q: 'release', limit: 10 }] });

export const SkillHeads = z
  .object({ items: z.array(SkillHead), next_cursor: NextCursor })
  .openapi('SkillHeads', { examples: [{ items: [headExample], next_cursor: cursorExample }] });

export const GetArguments = z
  .object({ id: z.uuid().describe('from the list') })
  .openapi('SkillGetArguments', { examples: [{ id: skillExample.id }] });

export const SkillAnswer = z.object({ skill: Skill }).openapi('SkillAnswer', { examples: [{ skill: skillExample }] });
