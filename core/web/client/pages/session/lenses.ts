/** The lenses of a session, in the order of their tabs. Each is loaded when it is first looked through. */
import type { ComponentType } from 'preact';
import { late } from '../../parts/late.tsx';
import { TalkLens } from './talk/talk-lens.tsx';

/** `name` is its part of the address, `word` its tab. */
export type Lens = { name: string; word: string; component: ComponentType };

const TALK: Lens = { name: 'talk', word: 'Talk', component: TalkLens };

export const LENSES: readonly Lens[] = [
  TALK,
  { name: 'time', word: 'Time', component: late(() => import('./time/time-lens.tsx'), 'TimeLens') },
  {
    name: 'cache',
    word: 'Cache',
    component: late(() => import('./cache/cache-lens.tsx'), 'CacheLens'),
  },
  {
    name: 'calls',
    word: 'Calls',
    component: late(() => import('./calls/calls-lens.tsx'), 'CallsLens'),
  },
];

/** Talk, where the address names none. */
export const lensNamed = (name: string): Lens => LENSES.find((lens) => lens.name === name) ?? TALK;
