/** The prompt cache of the demo's provider: how much of a prompt it has from an earlier one, and so what a call pays. */
import { tokensIn } from './tokens.ts';

export type PromptCache = {
  /**
   * Takes a prompt, part by part, at a moment in seconds, and remembers it.
   * @param answered false: the provider refused, so nothing is cached
   * @returns tokens of the whole prompt, and of its beginning that was read from the cache
   */
  send(model: string, parts: readonly string[], at: number, answered: boolean): { input: number; cached: number };
};

const LIFETIME_S = 300; // each use begins it anew
const LEAST_TOKENS = 1_024; // a shorter beginning is not cached

type Cached = { model: string; parts: readonly string[]; used_at: number };

export function openPromptCache(): PromptCache {
  let known: Cached[] = [];
  return {
    send(model, parts, at, answered) {
      known = known.filter(({ used_at }) => at - used_at <= LIFETIME_S);
      const shared = known.map((cached) => ({ cached, length: sharedBy(cached, model, parts) }));
      const best = shared.reduce<(typeof shared)[number] | null>(
        (longest, each) => (each.length > (longest?.length ?? 0) ? each : longest),
        null,
      );
      const tokens = parts.map(tokensIn);
      const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
      const read = best ? sum(tokens.slice(0, best.length)) : 0;
      const cached = answered && read >= LEAST_TOKENS ? read : 0;
      if (best && cached > 0) best.cached.used_at = at;
      if (answered) known.push({ model, parts, used_at: at });
      return { input: sum(tokens), cached };
    },
  };
}

/** How many parts from the first on are the same, for the same model. */
function sharedBy(cached: Cached, model: string, parts: readonly string[]): number {
  if (cached.model !== model) return 0;
  const differing = parts.findIndex((part, i) => part !== cached.parts[i]);
  return differing < 0 ? parts.length : differing;
}
