/** The tokens of a prompt's blocks: the provider's own counts, shared among the blocks that each count is of. */

/**
 * `billed`: the count is of this block alone. `shared`: the count is of several blocks, divided by their sizes. `none`: there is no
 * count, and `tokens` is null.
 */
export type TokenShare = { tokens: number | null; basis: 'billed' | 'shared' | 'none' };

/** One share per block, in their order. The tokens of all and `unattributed_tokens` are exactly the billed input. */
export type TokenShares = { shares: readonly TokenShare[]; unattributed_tokens: number };
