/** The list of a prompt's blocks, in groups that open: of many thousand, those in view are in the document. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallContext } from '../../../../../model/call-context.ts';
import { moveOf } from '../../../key-strokes.ts';
import { useKeys } from '../../../keys.ts';
import { Bytes } from '../../../parts/figure.tsx';
import { FixedRows, type FixedRowsHandle } from '../../../parts/fixed-rows.tsx';
import { Visible } from '../../../parts/recorded.tsx';
import type { Entry } from './block-changes.ts';
import type { BlockRow } from './block-rows.ts';
import { changeCounts, changeText, shareOf, sumOf } from './block-sums.ts';
import { BlockTokens } from './block-tokens.tsx';

type BlockListProps = {
  context: CallContext;
  rows: readonly BlockRow[];
  selected: string; // the key of an entry; '': none
  onSelect: (entry: Entry) => void;
  onToggle: (row: BlockRow & { type: 'group' }) => void;
};

const ROW_PX = 28;
const PAGE = 12;
const OPS = { add: '+ new', remove: '− gone', change: '~ changed', move: '↕ moved' } as const;

export function BlockList({ context, rows, selected, onSelect, onToggle }: BlockListProps) {
  const list = useRef<FixedRowsHandle>(null);
  const chosen = rows.findIndex((row) => row.type === 'block' && row.key === selected);
  const [wanted, setActive] = useState(Math.max(0, chosen));
  const active = Math.min(wanted, rows.length - 1);
  useEffect(() => {
    if (chosen < 0) return;
    setActive(chosen);
    list.current?.reveal(chosen);
  }, [chosen]);
  const goTo = (row: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, row));
    setActive(next);
    list.current?.reveal(next);
  };
  const press = (row: BlockRow | undefined) => {
    if (row?.type === 'group') onToggle(row);
    else if (row) onSelect(row.entry);
  };
  const fold = (open: boolean) => {
    const row = rows[active];
    if (row?.type === 'group') return row.open === open ? goTo(active + (open ? 1 : 0)) : onToggle(row);
    return open ? undefined : goTo(rows.findLastIndex(({ type }, n) => type === 'group' && n < active));
  };
  useKeys(
    {
      j: { does: 'next row', run: () => goTo(active + 1) },
      k: { does: 'previous row', run: () => goTo(active - 1) },
    },
    { scope: 'Context' },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => goTo(active + 1),
      ArrowUp: () => goTo(active - 1),
      PageDown: () => goTo(active + PAGE),
      PageUp: () => goTo(active - PAGE),
      Home: () => goTo(0),
      End: () => goTo(rows.length - 1),
      ArrowRight: () => fold(true),
      ArrowLeft: () => fold(false),
      Enter: () => press(rows[active]),
      ' ': () => press(rows[active]),
    };
    const step = moveOf(steps, event);
    if (!step) return;
    event.preventDefault();
    step();
  };
  return (
    <div class="block-list" style={{ height: `min(${Math.max(3, rows.length) * ROW_PX + 2}px, 52dvh)` }}>
      <FixedRows
        role="tree"
        label="Blocks of the prompt"
        count={rows.length}
        height={ROW_PX}
        active={active}
        rowKey={(n) => rows[n]?.key ?? n}
        handle={list}
        onKeyDown={onKeyDown}
        rowAttributes={(n) => ({
          ...attributesOf(rows[n], { isActive: n === active, isSelected: n === chosen }),
          onClick: () => {
            setActive(n);
            press(rows[n]);
          },
        })}
        renderRow={(n) => {
          const row = rows[n];
          if (row?.type === 'group') return <Group row={row} context={context} />;
          return row && <Block entry={row.entry} context={context} />;
        }}
      />
    </div>
  );
}

type Looks = { isActive: boolean; isSelected: boolean };

function attributesOf(row: BlockRow | undefined, { isActive, isSelected }: Looks) {
  if (!row) return {};
  const looks = [`block-row type-${row.type}`, isActive ? 'active' : '', isSelected ? 'selected' : ''];
  const shared = { class: looks.join(' ').trim(), 'aria-posinset': row.place, 'aria-setsize': row.siblings };
  if (row.type === 'group')
    return {
      ...shared,
      'aria-level': 1,
      'aria-expanded': row.open,
      'aria-selected': false,
      'data-group': row.group.key,
    };
  const { block, gone, change } = row.entry;
  return {
    ...shared,
    ...{ 'aria-level': 2, 'aria-selected': isSelected },
    ...{ 'data-change': change?.op, 'data-before': change?.before, 'data-kind': (block ?? gone)?.kind },
    ...{ 'data-section': (block ?? gone)?.section, 'data-id': (block ?? gone)?.id },
    ...(block
      ? { 'data-block': block.n, 'data-tokens': block.tokens ?? '', 'data-basis': block.basis }
      : { 'data-gone': gone?.n }),
  };
}

function Group({ row: { group, open }, context }: { row: BlockRow & { type: 'group' }; context: CallContext }) {
  const blocks = group.entries.flatMap(({ block }) => (block ? [block] : []));
  const sum = sumOf(blocks);
  const share = shareOf(sum, context);
  const kinds = new Set(blocks.map(({ kind }) => kind));
  return (
    <>
      <span class="block-fold" aria-hidden="true">
        {open ? '▾' : '▸'}
      </span>
      <span class="block-count">{sum.tokens === null ? <Bytes count={sum.bytes} /> : <BlockTokens {...sum} />}</span>
      <span class="block-share" title="of the prompt">
        {percentText(share)}
      </span>
      <span class="block-name">
        {kinds.size === 1 && <KindMark kind={blocks[0]?.kind ?? 'other'} />}
        <bdi>
          <Visible text={group.word} />
        </bdi>
      </span>
      <span class="muted">{sum.blocks}</span>
      <span class="block-change">{changeText(changeCounts(group.entries), context.against !== null)}</span>
    </>
  );
}

function Block({ entry: { block, gone, change }, context }: { entry: Entry; context: CallContext }) {
  const own = block ?? gone;
  return (
    <>
      <span class="block-fold" aria-hidden="true" />
      <span class="block-count">
        {block ? (
          block.tokens === null && context.usage === null ? (
            <Bytes count={block.bytes} />
          ) : (
            <BlockTokens {...block} />
          )
        ) : (
          <span class="muted">−</span>
        )}
      </span>
      <span class="block-share muted">{block && percentText(shareOf(block, context))}</span>
      <span class="block-name">
        <KindMark kind={own.kind} />
        <bdi title={`${own.path} ${own.label}`.slice(0, 300)}>
          <Visible text={own.label || own.path || own.kind} />
        </bdi>
      </span>
      {change && <span class={`block-change op-${change.op}`}>{OPS[change.op]}</span>}
    </>
  );
}

const KindMark = ({ kind }: { kind: string }) => <span class={`kind-mark kind-${kind}`} aria-hidden="true" />;

const percentText = (share: number): string => (share > 0 && share < 0.005 ? '<1 %' : `${Math.round(share * 100)} %`);
