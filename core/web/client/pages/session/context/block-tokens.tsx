/** A count of tokens with what it rests on: plain where it was billed as it is, `≈` for a share of several, `?` where nothing was counted. */
import { Tokens } from '../../../parts/figure.tsx';
import type { Basis } from './block-sums.ts';

const MEANS: Readonly<Record<Basis, string>> = {
  billed: "the provider's count of just this",
  shared: "a share, by size, of the provider's count of several blocks",
  none: 'the provider counted nothing here',
};

type BlockTokensProps = { tokens: number | null; basis: Basis; name?: string };

export const BlockTokens = ({ tokens, basis, name = 'tokens' }: BlockTokensProps) => (
  <span class="block-tokens" title={MEANS[basis]}>
    {tokens === null ? (
      <>
        <span aria-hidden="true">?</span>
        <span class="spoken">not counted</span>
      </>
    ) : (
      <>
        {basis === 'shared' && '≈'}
        <Tokens count={tokens} name={name} />
      </>
    )}
  </span>
);
