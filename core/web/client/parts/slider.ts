/** What makes a picture of things side by side a slider over them: its keys, and pressing and dragging. */
import type { TargetedPointerEvent } from 'preact';
import { moveOf } from '../key-strokes.ts';

type Slider = {
  label: string;
  text: string; // what the current one is, in words
  count: number;
  selected: number; // -1: none, and the keys begin at the first
  at: (x: number) => number; // what is drawn there, in pixels from the left
  onSelect: (index: number) => void;
};

const PAGE = 10;

/** The attributes of the element. */
export function slider({ label, text, count, selected, at, onSelect }: Slider) {
  const current = Math.max(0, selected);
  const targets: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: current - 1, ArrowDown: current - 1, ArrowRight: current + 1, ArrowUp: current + 1 },
    ...{ PageUp: current + PAGE, PageDown: current - PAGE, Home: 0, End: count - 1 },
  };
  const go = (index: number) => onSelect(Math.max(0, Math.min(count - 1, index)));
  const goTo = ({ clientX, currentTarget }: TargetedPointerEvent<HTMLElement>) => {
    const index = at(clientX - currentTarget.getBoundingClientRect().left);
    if (index !== selected) go(index);
  };
  return {
    role: 'slider',
    ...{ tabIndex: 0, 'aria-label': label, 'aria-valuetext': text },
    ...{ 'aria-valuemin': 1, 'aria-valuemax': count, 'aria-valuenow': current + 1 },
    onKeyDown: (event: KeyboardEvent) => {
      const target = moveOf(targets, event);
      if (target === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      go(target);
    },
    onPointerDown: (event: TargetedPointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      goTo(event);
    },
    onPointerMove: (event: TargetedPointerEvent<HTMLElement>) => {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event);
    },
  } as const;
}
