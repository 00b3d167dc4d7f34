/** The bar of a context: its blocks side by side in cache order, and below them how the input was billed. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { CallContext } from '../../../../../model/call-context.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { Tokens } from '../../../parts/figure.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { slider } from '../../../parts/slider.ts';
import { colours } from '../../../store/preferences.ts';
import { type BarCell, billedParts, cellAt } from './bar-cells.ts';
import { BAR_HEIGHT, drawBar } from './bar-drawing.ts';
import { kindWord } from './kind-words.ts';

type ContextBarProps = {
  context: CallContext;
  cells: readonly BarCell[];
  selected: number; // a block; -1: none
  onSelect: (block: number) => void;
};

export function ContextBar({ context, cells, selected, onSelect }: ContextBarProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const billed = billedParts(context);
  const broken = context.break?.where?.block ?? -1;
  useLayoutEffect(() => {
    if (canvas.current && width > 0) drawBar(canvas.current, width, { cells, billed, selected, broken });
  }, [cells, selected, width, colours.value]);
  if (cells.length === 0) return null;
  return (
    <div class="context-bar">
      <div
        ref={box}
        class="context-bar-strip"
        {...slider({
          label: 'Blocks of the prompt in cache order',
          text: spoken(cells, Math.max(0, selected)),
          count: cells.length,
          selected,
          at: (x) => cellAt(cells, x / Math.max(1, width)),
          onSelect,
        })}
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
  const tokens = block.tokens === null ? 'not counted' : `${grouped(block.tokens)} tokens`;
  const words = [`block ${at + 1} of ${cells.length}`, kindWord(block.kind), block.label.slice(0, 60), tokens];
  return [...words, block.billed_as ?? '', op ?? ''].filter((word) => word !== '').join(', ');
}

function sectionsOf(cells: readonly BarCell[]): [section: string, blocks: number][] {
  const counts = new Map<string, number>();
  for (const { block } of cells) counts.set(block.section, (counts.get(block.section) ?? 0) + 1);
  return [...counts];
}
