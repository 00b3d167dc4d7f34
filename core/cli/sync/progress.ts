/** How far a sweep is, in one line of a terminal that is written over. */
import { counted, sized } from '../units.ts';
import type { SweepProgress } from './sweep.ts';

const FIRST_MS = 1_000; // what takes less shows nothing
const EVERY_MS = 200;
const CLEAR = '\r\u001b[2K';

export type SweepProgressLine = {
  show(progress: SweepProgress): void;
  /** Clears the line. */
  end(): void;
};

export function openProgress(err: (text: string) => void): SweepProgressLine {
  const startedAt = performance.now();
  let shownAt = startedAt + FIRST_MS - EVERY_MS;
  let isShown = false;
  return {
    show: (progress) => {
      const now = performance.now();
      if (now - shownAt < EVERY_MS) return;
      shownAt = now;
      isShown = true;
      err(CLEAR + progressLine(progress, (now - startedAt) / 1000));
    },
    end: () => {
      if (isShown) err(CLEAR);
    },
  };
}

const progressLine = ({ files, of, bytes, ofBytes }: SweepProgress, seconds: number): string => {
  const percent = ofBytes === 0 ? 100 : Math.floor((bytes / ofBytes) * 100);
  const rate = sized(Math.round(bytes / seconds));
  return `${percent}%  ${counted(files)} of ${counted(of)} files, ${sized(bytes)} of ${sized(ofBytes)}, ${rate}/s`;
};
