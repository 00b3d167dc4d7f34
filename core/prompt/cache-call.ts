/** A call as the rules of the prompt cache see it. */
import type { Usage } from '../model/usage.ts';
import type { Usd } from '../price/money.ts';
import type { Prompt } from './prompt.ts';

export type CacheCall = {
  raw_turn_id: number;
  session_id: string;
  at: string; // when the request came, RFC 3339
  ended_at: string | null;
  model: string;
  provider: string;
  /** Whose cache it is: providers keep one for each account. Equal for equal credentials. */
  credential: string;
  /** The line of conversation: its thread, and what the call was for. '' where neither is known. */
  lane: string;
  /** Its history was replaced by a summary. */
  seam: boolean;
  prompt: Prompt;
  /** Of each block of the prompt; null: no count. */
  tokens: readonly (number | null)[];
  usage: Usage | null; // null: nothing was billed, so nothing was kept either
  /** What such a usage costs at the call's own price row; null: it has none. */
  cost: (usage: Usage) => Usd | null;
  span: { trace_id: string; span_id: string } | null;
};

export type BilledCall = CacheCall & { usage: Usage };
