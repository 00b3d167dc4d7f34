/** The bar of a context: its blocks side by side in cache order, and below them how the input was billed. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { CallContext } from '../../../../../model/call-context.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { Tokens } from '../../../parts/figure.tsx';
import { theme } from '../../../store/preferences.ts';
import { type BarCell, billedParts, cellAt } from './bar-cells.ts';
import { BAR_HEIGHT, drawBar } from './bar-drawing.ts';
import { kindWord } from './kind-words.ts';

type ContextBarProps = {
  context: CallContext;
  cells: readonly BarCell[];
  selected: number; // a block; -1: none
  onSelect: (block: number) => void;
};

const PAGE = 10; // blocks

export function ContextBar({ context, cells, selected, onSelect }: ContextBarProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const billed = billedParts(context);
  const broken = context.break?.where?.block ?? -1;
  const current = Math.max(0, selected);
  useLayoutEffect(() => {
    if (canvas.current && width > 0) drawBar(canvas.current, width, { cells, billed, selected, broken });
  }, [cells, selected, width, theme.value]);
  if (cells.length === 0) return null;
  const go = (block: number) => onSelect(Math.max(0, Math.min(cells.length - 1, block)));
  const goTo = (event: PointerEvent) => {
    const { left } = box.current?.getBoundingClientRect() ?? { left: 0 };
    const block = cellAt(cells, (event.clientX - left) / Math.max(1, width));
    if (block !== selected) go(block);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowLeft: current - 1, ArrowDown: current - 1, ArrowRight: current + 1, ArrowUp: current + 1 },
      ...{ PageUp: current + PAGE, PageDown: current - PAGE, Home: 0, End: cells.length - 1 },
    };
    const target = Object.hasOwn(steps, event.key) ? steps[event.key] : undefined;
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    go(target);
  };
  return (
    <div class="context-bar">
      <div
        ref={box}
        class="context-bar-strip"
        role="slider"
        tabIndex={0}
        aria-label="Blocks of the prompt in cache order"
        aria-valuemin={1}
        aria-valuemax={cells.length}
        aria-valuenow={current + 1}
        aria-valuetext={spoken(cells, current)}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          goTo(event);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event);
        }}
      >
        <canvas ref={canvas} height={BAR_HEIGHT} />
      </div>
      <ul class="context-legend" aria-label="Sections of the prompt, and how it was billed">
        {sectionsOf(cells).map(([section, count]) => (
          <li key={section}>
            {section} {count}
          </li>
        ))}
        {billed.map(({ as, tokens }) => (
          <li key={as}>
            <span class={`legend-key billed-${as}`} aria-hidden="true" />
            {as} <Tokens count={tokens} name={`${as}_tokens`} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function spoken(cells: readonly BarCell[], at: number): string {
  const { block, op } = cells[at] ?? {};
  if (!block) return '';
  const tokens = block.tokens === null ? 'not counted' : `${block.tokens.toLocaleString('en-US')} tokens`;
  const words = [`block ${at + 1} of ${cells.length}`, kindWord(block.kind), block.label.slice(0, 60), tokens];
  return [...words, block.billed_as ?? '', op ?? ''].filter((word) => word !== '').join(', ');
}

function sectionsOf(cells: readonly BarCell[]): [section: string, blocks: number][] {
  const counts = new Map<string, number>();
  for (const { block } of cells) counts.set(block.section, (counts.get(block.section) ?? 0) + 1);
  return [...counts];
}
