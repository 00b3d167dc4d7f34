/** A session: one conversation with its rollup, as the read API shows it. */
import { z } from '@hono/zod-openapi';
import { At, cursorExample, NextCursor } from './page.ts';
import { UsageTotals } from './usage-totals.ts';

const ModelUse = z.object({
  model: z.string(),
  calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number().nullable().describe('null: the model has no known price'),
  price: z.object({ source: z.string(), date: z.string() }).nullable(),
});

const Rollup = z.object({
  status: z.enum(['completed', 'failed', 'abandoned', 'interrupted', 'unknown']),
  title: z.string().optional(),
  preview: z.string().optional().describe('the beginning of the first prompt'),
  turn_count: z.int().describe('traces'),
  model: z.string().optional().describe('used most'),
  model_usage: z.array(ModelUse).optional().describe('one row for each model and price'),
  kind_counts: z.record(z.string(), z.int()).describe('LLM calls by what they were for'),
  tool_result_count: z.int(),
  tool_error_count: z.int(),
  error_count: z.int().describe('calls and tools that failed, but for those that count in another session'),
  shape: z
    .array(z.int())
    .describe(
      'input tokens of the main calls of the main thread in their order, in at most 32 numbers: each the largest of equally many calls',
    ),
  has_git_activity: z.boolean(),
  tasks: z.array(z.unknown()),
  usage: UsageTotals.describe('of the calls that were made in this session: each call counts in one'),
  inherited_calls: z
    .int()
    .optional()
    .describe(
      'calls that this session shows as its history and that count in another, or came twice; in no other number',
    ),
  inherited_cost_usd: z
    .number()
    .optional()
    .describe('what those cost where they count; absent: none has a known price'),
});

export const sessionExample = {
  id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  harness_id: 'claude',
  harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20',
  harness_version: '2.1.197',
  cwd: '/home/ada/engine',
  display_title: 'Fix the carry in the adder',
  live: false,
  starred: false,
  started_at: '2026-07-27T09:30:00.123456Z',
  last_seen_at: '2026-07-27T09:41:12.000512Z',
  raw_turn_count: 9,
  rollup: {
    status: 'completed',
    title: 'Fix the carry in the adder',
    preview: 'The adder drops its carry, please look into it',
    turn_count: 1,
    model: 'claude-sonnet-4-5',
    model_usage: [
      {
        model: 'claude-sonnet-4-5',
        calls: 8,
        input_tokens: 184_201,
        output_tokens: 3_120,
        cost_usd: 0.213_405,
        price: { source: 'genai-prices', date: '2026-07-01' },
      },
    ],
    kind_counts: { main: 8 },
    tool_result_count: 7,
    tool_error_count: 0,
    error_count: 0,
    shape: [9_200, 12_400, 18_800, 21_300, 24_900, 28_400, 33_000, 36_201],
    has_git_activity: false,
    tasks: [],
    usage: {
      input_tokens: 184_201,
      output_tokens: 3_120,
      cache_read_tokens: 160_440,
      cache_write_tokens: 21_007,
      reasoning_tokens: 0,
      cost_usd: 0.213_405,
      unpriced_models: [],
    },
  },
};

export const Session = z
  .object({
    id: z.uuid(),
    harness_id: z.string().describe('"unknown" when no client names it'),
    harness_session_id: z.string(),
    harness_version: z.string().optional(),
    harness_metadata: z.record(z.string(), z.unknown()).optional(),
    parent_session_id: z.uuid().optional(),
    fork_of_session_id: z.uuid().optional().describe('whose history it goes on from'),
    auth_subject: z.string().optional(),
    agent_name: z.string().optional().describe('the harness or library that made the calls'),
    project: z.string().optional(),
    cwd: z.string().optional(),
    git_branch: z.string().optional(),
    name: z.string().optional().describe('given by the harness'),
    display_name: z.string().optional().describe('given by a person'),
    display_title: z.string(),
    live: z.boolean().describe('seen within the last five minutes, and not ended'),
    starred: z.boolean().describe('by a person'),
    forks: z.int().optional().describe('sessions that go on from its history; absent: none'),
    children: z.int().optional().describe('sessions that it started; absent: none'),
    started_at: At,
    last_seen_at: At,
    ended_at: At.optional(),
    raw_turn_count: z.int(),
    rollup: Rollup,
  })
  .openapi('Session', { examples: [sessionExample] });
export type Session = z.infer<typeof Session>;

export const SessionPage = z
  .object({ items: z.array(Session), next_cursor: NextCursor })
  .openapi('SessionPage', { examples: [{ items: [sessionExample], next_cursor: cursorExample }] });
export type SessionPage = z.infer<typeof SessionPage>;

export const SessionAnswer = z
  .object({ session: Session })
  .openapi('SessionAnswer', { examples: [{ session: sessionExample }] });
export type SessionAnswer = z.infer<typeof SessionAnswer>;

/** A session as it is stored: what depends on the moment of reading is not in it. */
export type SessionRecord = Omit<Session, 'live' | 'display_title'>;

const LIVE_MS = 5 * 60_000;

/** A session as it is shown at a moment, in milliseconds since 1970. */
export const shownSession = (record: SessionRecord, now: number): Session => ({
  ...record,
  display_title: displayTitle(record),
  live: record.ended_at === undefined && now - Date.parse(record.last_seen_at) <= LIVE_MS,
});

/** As `titleOf` chooses, of the harness's id the first 12 characters; else the session's own id. */
export const displayTitle = ({ id, display_name, name, harness_session_id, rollup }: SessionRecord): string => {
  const { title, preview } = rollup;
  return titleOf({ display_name, title, preview, name, harness_session_id: harness_session_id.slice(0, 12) }) ?? id;
};

/** What a session may be called after; a preview is the beginning of what a person first wrote. */
export type TitleParts = Partial<
  Record<'display_name' | 'title' | 'preview' | 'name' | 'harness_session_id', string | null | undefined>
>;

/**
 * The name that a person gave, else the title or the preview, else the harness's name or id; null: it has none of these. A prompt that is
 * JSON is no title.
 * @example
 * titleOf({ preview: '[{"role":"user"}]', name: 'fix-adder' }); // => 'fix-adder'
 * titleOf({ preview: 'Fix the adder', name: 'fix-adder' }); // => 'Fix the adder'
 */
export const titleOf = ({ display_name, title, preview, name, harness_session_id }: TitleParts): string | null =>
  [display_name, title, preview && !isJson(preview) ? preview : '', name, harness_session_id].find(
    (part) => (part ?? '').trim() !== '',
  ) ?? null;

/** Previews are cut, so JSON is recognised by how it begins as well. */
const isJson = (text: string): boolean => {
  if (!/^\s*[[{]/.test(text)) return false;
  if (/^\s*(\{\s*"[^"]*"\s*:|\[\s*\{\s*"[^"]*"\s*:)/.test(text)) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
