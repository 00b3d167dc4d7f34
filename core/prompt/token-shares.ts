/**
 * The tokens of a prompt's blocks: the provider's own counts, shared among the blocks that each count is of. A call that only adds blocks
 * to an earlier one shows by how much its input grew what the added ones take; of a first call there is one number for all.
 */
import { commonBeginning } from './diff-prompts.ts';
import type { Prompt, PromptBlock } from './prompt.ts';

/**
 * `billed`: the count is of this block alone. `shared`: the count is of several blocks, divided by their sizes. `none`: there is no
 * count, and `tokens` is null.
 */
export type TokenShare = { tokens: number | null; basis: 'billed' | 'shared' | 'none' };

/** One share per block, in their order. The tokens of all and `unattributed_tokens` are exactly the billed input. */
export type TokenShares = { shares: readonly TokenShare[]; unattributed_tokens: number };

/** An earlier call with a count. */
export type CountedPrompt = { prompt: Prompt; input_tokens: number; tokens: TokenShares };

/** No text has more: what a count has beyond is not in the bytes. */
const BYTES_PER_TOKEN_LEAST = 1.5;
/** Nearly none has fewer: a count with less is not of these blocks alone, since the provider left others out (thinking of earlier turns). */
const BYTES_PER_TOKEN_MOST = 20;
/** Of English text and code; only by comparison with bytes does it say how many bytes a picture stands for. */
const BYTES_PER_PICTURE_TOKEN = 4;

const NONE: TokenShare = { tokens: null, basis: 'none' };

/**
 * @param input_tokens as billed; null: the provider gives none
 * @param earlier calls of the same thread and model, the newest first
 */
export function tokenShares(
  prompt: Prompt,
  input_tokens: number | null,
  earlier: readonly CountedPrompt[],
): TokenShares {
  const { blocks } = prompt;
  if (input_tokens === null) return { shares: blocks.map(() => NONE), unattributed_tokens: 0 };
  const compared = earlier.map((call) => ({ call, common: commonBeginning(call.prompt.blocks, blocks) }));
  const [nearest] = compared.sort((one, other) => other.common - one.common); // stable: of equals the newest
  const base = compared.find(
    ({ call, common }) => common === call.prompt.blocks.length && sameKey(call.prompt, prompt),
  );
  const grown = base && addedShares(blocks.slice(base.common), input_tokens - base.call.input_tokens);
  if (base && grown) {
    const { shares, unattributed_tokens } = base.call.tokens;
    return {
      shares: [...shares, ...grown.shares],
      unattributed_tokens: unattributed_tokens + grown.unattributed_tokens,
    };
  }
  return divided(blocks, input_tokens, sizesOf(blocks, nearest?.call));
}

const sameKey = (one: Prompt, other: Prompt): boolean => keyOf(one) === keyOf(other);

const keyOf = ({ parameters }: Prompt): string =>
  parameters.flatMap(({ name, value, keyed }) => (keyed ? [`${name}=${value}`] : [])).join('\n');

/** null: so few tokens cannot be of these blocks. */
function addedShares(blocks: readonly PromptBlock[], tokens: number): TokenShares | null {
  const sizes = blocks.map(sizeOf);
  if (tokens < sum(sizes) / BYTES_PER_TOKEN_MOST) return null;
  return divided(blocks, tokens, sizes);
}

/** In bytes. The data of a picture says nothing of its tokens: its area does. */
const sizeOf = ({ bytes, picture_bytes, picture_tokens }: PromptBlock): number =>
  Math.max(1, bytes - picture_bytes) + picture_tokens * BYTES_PER_PICTURE_TOKEN;

/** Where blocks were counted with the call before, their sizes are in proportion to what they had then. */
function sizesOf(blocks: readonly PromptBlock[], before: CountedPrompt | undefined): number[] {
  const known = new Map<string, number>();
  let [tokens, bytes] = [0, 0];
  before?.prompt.blocks.forEach((block, n) => {
    const share = before.tokens.shares[n]?.tokens ?? 0;
    if (share === 0) return;
    known.set(block.id, share);
    tokens += share;
    bytes += sizeOf(block);
  });
  const bytesPerToken = tokens === 0 ? 1 : bytes / tokens;
  return blocks.map((block) => {
    const share = known.get(block.id);
    return share === undefined ? sizeOf(block) : share * bytesPerToken;
  });
}

/** Divides a count in proportion to sizes, so that the shares add up: each is rounded down, and the largest remainders get one more. */
function divided(blocks: readonly PromptBlock[], tokens: number, sizes: readonly number[]): TokenShares {
  const most = Math.floor(sum(blocks.map(sizeOf)) / BYTES_PER_TOKEN_LEAST);
  const attributed = Math.min(tokens, most);
  const whole = sum(sizes);
  const exact = sizes.map((size) => (whole === 0 ? 0 : (attributed * size) / whole));
  const counts = exact.map(Math.floor);
  const order = exact
    .map((share, n) => ({ n, rest: share - Math.floor(share) }))
    .sort((a, b) => b.rest - a.rest || a.n - b.n);
  const missing = attributed - sum(counts);
  for (let i = 0; i < missing; i++) {
    const next = order[i % order.length];
    if (next) counts[next.n] = (counts[next.n] ?? 0) + 1;
  }
  const basis = blocks.length === 1 && attributed === tokens ? 'billed' : 'shared';
  return {
    shares: counts.map((count) => ({ tokens: count, basis })),
    unattributed_tokens: tokens - attributed,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
