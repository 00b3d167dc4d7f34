/** The tokens of a call to Anthropic, of its usage object and of the iterations within it. */
import { addUsage, noUsage, type Usage } from '../model/usage.ts';
import { type Fields, fields, tokens } from './json.ts';

/**
 * Anthropic counts uncached input, cache writes and cache reads apart; ours is their sum. The provider's totals leave out the
 * tokens of a compaction that the server ran within the call, although it bills them: they are added. Null when nothing is reported.
 */
export function anthropicUsage(usage: Fields): Usage | null {
  const own = usagePart(usage);
  if (own === null || !Array.isArray(usage.iterations)) return own;
  const compactions = usage.iterations.filter((step) => fields(step).type === 'compaction');
  return compactions.map((step) => usagePart(fields(step)) ?? noUsage).reduce(addUsage, own);
}

/** What one object of counts reports, the whole's or an iteration's; null when it reports nothing. */
export function usagePart(usage: Fields): Usage | null {
  const split = fields(usage.cache_creation);
  const fresh = tokens(usage.input_tokens);
  const output = tokens(usage.output_tokens);
  const read = tokens(usage.cache_read_input_tokens);
  const oneHour = tokens(split.ephemeral_1h_input_tokens) ?? 0;
  const splitWrites = (tokens(split.ephemeral_5m_input_tokens) ?? 0) + oneHour;
  const written = tokens(usage.cache_creation_input_tokens) ?? (splitWrites > 0 ? splitWrites : null);
  if (fresh === null && output === null && read === null && written === null) return null;
  const written1h = Math.min(oneHour, written ?? 0); // the total takes precedence: a later event may raise it without the split
  return {
    input_tokens: (fresh ?? 0) + (written ?? 0) + (read ?? 0),
    output_tokens: output ?? 0,
    cache_read_tokens: read ?? 0,
    cache_write_5m_tokens: (written ?? 0) - written1h,
    cache_write_1h_tokens: written1h,
    reasoning_tokens: Math.min(tokens(fields(usage.output_tokens_details).thinking_tokens) ?? 0, output ?? 0),
  };
}
