/** Words for what a call was for and for how its answer was cut. */
import type { StepFacts } from './step-facts.ts';

const BESIDE: Readonly<Record<string, string>> = {
  'offshoot:permission-check:stage1': 'permission check',
  'offshoot:permission-check:stage2': 'permission check, second stage',
  'offshoot:probe': 'probe',
  'offshoot:suggestion': 'suggestion',
  'offshoot:title-gen': 'title',
  'offshoot:plan-name-gen': 'name of a plan',
  'offshoot:web-summary': 'summary of a page',
  'offshoot:compaction': 'compaction',
};

/** What a call beside the conversation is for; null: it is the conversation. */
export const besideWords = (call_kind: string): string | null =>
  call_kind.startsWith('offshoot:')
    ? (Object.hasOwn(BESIDE, call_kind) && BESIDE[call_kind]) || call_kind.slice(9)
    : null;

/** The words of providers for an answer that reached its limit. */
const LIMITS = ['max_tokens', 'length', 'max_output_tokens', 'model_context_window_exceeded', 'MAX_TOKENS'];

/** Why an answer was cut; null: it was not. */
export function cutWords({
  status,
  error_type,
  stop_reason,
}: Pick<StepFacts, 'status' | 'error_type' | 'stop_reason'>): string | null {
  if (status === 'partial')
    return error_type === 'client_closed'
      ? 'the client closed the connection'
      : error_type === ''
        ? 'the answer broke off'
        : error_type;
  return status === 'ok' && LIMITS.includes(stop_reason) ? `it reached its limit (${stop_reason})` : null;
}
