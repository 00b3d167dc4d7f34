/** The causes of a break in words. */
import type { BreakCause } from '../../../../../model/cache-break.ts';

export const CAUSES: Readonly<Record<BreakCause, string>> = {
  first: 'first call',
  model: 'another model',
  tools: 'tools changed',
  system: 'system prompt changed',
  parameters: 'parameters changed',
  compaction: 'compaction',
  history: 'an earlier message changed',
  mark: 'cache marks gone or out of reach',
  small: 'too small to be cached',
  expired: 'expired',
  unexplained: 'not explained',
};
