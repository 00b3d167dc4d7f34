/** How a provider caches prompts, as its documentation states it. */
import type { PromptSection } from '../model/cache-break.ts';

/** Anthropic's way: a prompt is cached up to a mark of the client's (`cache_control`), for the time that the mark names. */
export type CachingByMarks = {
  by: 'marks';
  /** From a mark backwards, so many blocks are tried for one at which something was kept; the mark's own is the first. */
  reach: number;
  /** Beginnings that are shorter are not kept, in tokens. */
  least(model: string): number;
  /** The section from which on a change of the parameter makes what was kept useless. */
  scopeOf(parameter: string): PromptSection;
};

/** OpenAI's way: all of a prompt is kept without a mark, in steps. */
export type CachingBySteps = {
  by: 'steps';
  least: number;
  step: number;
  /** How long something unused is kept: usually, and at most. */
  idle(retention: string): { usual_ms: number; most_ms: number };
  scopeOf(parameter: string): PromptSection;
};

export type Caching = CachingByMarks | CachingBySteps;

export const LIFETIME_MS = { '5m': 300_000, '1h': 3_600_000 } as const;
