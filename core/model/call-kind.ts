/** The kinds of LLM calls. A closed list: every call that is not recognised as something else is the conversation itself. */
import { z } from 'zod';

/**
 * `main` is the conversation. The others are calls that a harness makes beside it: they judge a tool call before it runs, find a
 * title, make a summary.
 */
export const CallKind = z.enum([
  'main',
  'offshoot:permission-check:stage1',
  'offshoot:permission-check:stage2',
  'offshoot:probe',
  'offshoot:suggestion',
  'offshoot:title-gen',
  'offshoot:plan-name-gen',
  'offshoot:web-summary',
  'offshoot:compaction',
]);
export type CallKind = z.infer<typeof CallKind>;
