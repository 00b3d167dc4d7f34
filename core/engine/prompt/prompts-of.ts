/** The prompts of a session's calls in the order of time, read from their stored requests, each with the tokens of its blocks. */
import type { Database } from '../../db/database.ts';
import type { Span, SpanUsage } from '../../model/span.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import type { TokenShares } from '../../prompt/token-shares.ts';
import { modelOf, type WalkedCall, walkPrompts } from './walk-prompts.ts';

export type CallPrompt = {
  raw_turn_id: number;
  session_id: string;
  thread_id: string; // '' is the main thread
  at: string; // when the request came: UTC with microseconds
  ended_at: string | null; // the last byte of the answer; null: none came
  model: string; // as answered, else as requested
  provider: string;
  credential: string; // the keyed hash under which the session's client is stored
  call_kind: string; // core/model/call-kind.ts
  usage: SpanUsage | null; // null: the provider reported none, or the call is not derived yet
  price: NonNullable<Span['price']> | null; // the price row of its cost
  span: { trace_id: string; span_id: string } | null; // of the call; null: not derived yet
  prompt: Prompt;
  tokens: TokenShares;
};

/** Calls whose request was not stored or cannot be read are left out. */
export async function* promptsOf(execute: Database['execute'], session_id: string): AsyncGenerator<CallPrompt, void> {
  for await (const walked of walkPrompts(execute, session_id)) yield callPrompt(walked);
}

export function callPrompt({ call, prompt, tokens }: WalkedCall): CallPrompt {
  const { raw_turn_id, session_id, thread_id, provider, credential, call_kind, span } = call;
  return {
    raw_turn_id,
    session_id,
    thread_id,
    at: call.requested_at,
    ended_at: call.last_byte_at,
    model: modelOf(call),
    provider,
    credential,
    call_kind,
    usage: span?.usage ?? null,
    price: span?.price ?? null,
    span: span && { trace_id: span.trace_id, span_id: span.span_id },
    prompt,
    tokens,
  };
}
