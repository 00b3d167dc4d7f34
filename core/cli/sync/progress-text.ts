/** How far a sweep is, for its progress line. */
import { counted, sized } from '../units.ts';
import type { SweepProgress } from './sweep.ts';

/** @param seconds since the sweep began */
export const progressText = ({ files, of, bytes, ofBytes }: SweepProgress, seconds: number): string =>
  `${counted(files)} of ${counted(of)} files, ${sized(bytes)} of ${sized(ofBytes)}, ${sized(Math.round(bytes / seconds))}/s`;
