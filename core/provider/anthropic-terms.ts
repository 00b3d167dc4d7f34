/** The terms on which Anthropic billed a call, and whether its usage holds all that was billed: several models may have taken part. */
import type { Reply } from '../model/reply.ts';
import type { Terms } from '../model/terms.ts';
import { addUsage, noUsage, type Usage } from '../model/usage.ts';
import { usagePart } from './anthropic-usage.ts';
import { type Fields, fields, text } from './json.ts';
import { commonTerms } from './terms.ts';

export function anthropicTerms({
  usage_verbatim,
  content,
  model,
}: Pick<Reply, 'usage_verbatim' | 'content' | 'model'>): Terms {
  const usage = fields(usage_verbatim);
  const credit = fields(fields(usage.fallback_credit).status).type;
  return {
    ...commonTerms(usage, content),
    speed: text(usage.speed),
    inference_geo: text(usage.inference_geo),
    // a client's retry of a declined request is billed as if the model had cached its prompt, which its counts do not show
    unlisted_fees: credit === 'redeemed',
    other_models: hasOtherModels(usage, model),
  };
}

/** Steps of another model within the call, such as the advisor's, are in none of its counts. */
function hasOtherModels(usage: Fields, model: string): boolean {
  const steps = Array.isArray(usage.iterations) ? usage.iterations.map(fields) : [];
  if (steps.some(({ type }) => type === 'fallback_message')) return !isFallbackAlone(usage, steps, model);
  return steps.some(({ type }) => !OWN_STEPS.has(text(type)));
}

const OWN_STEPS = new Set(['', 'message', 'compaction']);

/**
 * Whether the answer of a fallback model is all that was billed, at the prices of its counts. A model that declined before it wrote
 * anything is not billed; one that wrote is. Where a declining model had cached the prompt, the fallback model's cache writes cost less
 * than they count. https://platform.claude.com/docs/en/build-with-claude/fallback-credit
 */
function isFallbackAlone(usage: Fields, steps: readonly Fields[], model: string): boolean {
  const own = steps.filter((step) => step.model === model && ANSWERS.has(text(step.type)));
  const others = steps.filter((step) => !own.includes(step));
  const counted = own.map((step) => usagePart(step) ?? noUsage).reduce(addUsage, noUsage);
  return areEqual(counted, usagePart(usage) ?? noUsage) && others.every(isUnbilled);
}

const ANSWERS = new Set(['message', 'fallback_message']);

function isUnbilled(step: Fields): boolean {
  const { output_tokens, cache_read_tokens, ...part } = usagePart(step) ?? noUsage;
  const isDeclined = step.type === 'message' && text(step.model) !== '';
  return isDeclined && output_tokens + cache_read_tokens + writtenIn(part) === 0;
}

const areEqual = (one: Usage, other: Usage): boolean =>
  one.input_tokens === other.input_tokens &&
  one.output_tokens === other.output_tokens &&
  one.cache_read_tokens === other.cache_read_tokens &&
  writtenIn(one) === writtenIn(other); // for how long is not in every count

const writtenIn = (usage: Pick<Usage, 'cache_write_5m_tokens' | 'cache_write_1h_tokens'>): number =>
  usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
