/** How each block of a prompt was billed, by its place: what was read from the cache comes first, then what was written to it, then the rest. */
import type { ContextBlock } from '../model/call-context.ts';
import type { Usage } from '../model/usage.ts';
import type { TokenShares } from './token-shares.ts';

type Billed = ContextBlock['billed_as'];
type CacheUsage = Pick<Usage, 'cache_read_tokens' | 'cache_write_5m_tokens' | 'cache_write_1h_tokens'>;

/** Shares are rounded, so a border that lies this near to a block's edge is taken to lie on it. */
const NEAR = { tokens: 32, share: 0.02 };

/** Tokens that are in no block are taken to stand before them all, as what a provider adds itself does. */
export function billedAs({ shares, unattributed_tokens }: TokenShares, usage: CacheUsage | null): Billed[] {
  if (!usage) return shares.map(() => null);
  let end = unattributed_tokens;
  const edges = shares.map(({ tokens }) => {
    end += tokens ?? 0;
    return end;
  });
  const read = snapped(usage.cache_read_tokens, edges);
  const written = snapped(usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens, edges);
  let from = unattributed_tokens;
  return shares.map(({ tokens }, n): Billed => {
    const [start, stop] = [from, edges[n] ?? from];
    from = stop;
    if (tokens === null) return null;
    if (stop <= read) return 'read';
    if (start >= read && stop <= written) return 'write';
    return start >= written ? 'fresh' : 'mixed';
  });
}

/** A border at the edge of a block, where one is near. */
function snapped(border: number, edges: readonly number[]): number {
  if (border === 0) return 0;
  let nearest = border;
  let least = Math.max(NEAR.tokens, border * NEAR.share) + 1;
  for (const edge of edges) {
    const distance = Math.abs(edge - border);
    if (distance < least) [nearest, least] = [edge, distance];
  }
  return nearest;
}
