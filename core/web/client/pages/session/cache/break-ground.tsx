/** What the cause of a break is known from, as a word on a ground of its own. */
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { GROUNDS } from './break-words.ts';
import './breaks.css';

export const BreakGround = ({ ground }: { ground: CacheBreak['ground'] }) => (
  <span class={`break-ground ground-${ground}`} data-ground={ground} title={GROUNDS[ground][1]}>
    {GROUNDS[ground][0]}
  </span>
);
