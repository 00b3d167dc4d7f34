/** A body as text, in rows that fit the width, with a search through all of it. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { FixedRows, type FixedRowsHandle } from '../../../parts/fixed-rows.tsx';
import { Visible } from '../../../parts/recorded.tsx';
import { hitsIn, type TextRow, textRows } from './text-rows.ts';

const LINE_PX = 20;
const CHARACTER_PX = 7.9;
const GUTTER_PX = 84;

export function TextView({ text, width }: { text: string; width: number }) {
  const longest = Math.max(24, Math.min(400, Math.floor((width - GUTTER_PX) / CHARACTER_PX)));
  const rows = useMemo(() => textRows(text, longest), [text, longest]);
  const [words, setWords] = useState('');
  const [hit, setHit] = useState(0);
  const list = useRef<FixedRowsHandle>(null);
  const hits = useMemo(() => hitsIn(text, words), [text, words]);
  const active = hits.length > 0 ? rows.rowAt(hits[hit] ?? 0) : -1;
  const goTo = (next: number, among = hits) => {
    if (among.length === 0) return;
    const at = (next + among.length) % among.length;
    setHit(at);
    list.current?.reveal(rows.rowAt(among[at] ?? 0), 'center');
  };
  return (
    <div class="body-text">
      <search class="text-find">
        <input
          type="search"
          aria-label="Find in the body"
          placeholder="find …"
          value={words}
          onInput={(event) => {
            const { value } = event.currentTarget;
            setWords(value);
            goTo(0, hitsIn(text, value));
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            goTo(hit + (event.shiftKey ? -1 : 1));
          }}
        />
        <span role="status" class="muted">
          {words !== '' && (hits.length === 0 ? 'not found' : `${hit + 1} of ${hits.length}`)}
        </span>
      </search>
      <FixedRows
        role="list"
        label="The body as text"
        count={rows.count}
        height={LINE_PX}
        rowKey={(n) => n}
        active={active}
        handle={list}
        rowAttributes={(n) => ({ class: n === active ? 'text-row mono hit' : 'text-row mono' })}
        renderRow={(n) => <Line row={rows.row(n)} isFirst={n === 0 || rows.row(n - 1).line !== rows.row(n).line} />}
      />
    </div>
  );
}

const Line = ({ row, isFirst }: { row: TextRow; isFirst: boolean }) => (
  <>
    <span class="text-line" aria-hidden="true">
      {isFirst ? row.line : ''}
    </span>
    <bdi>
      <Visible text={row.text} />
    </bdi>
    {row.continues && (
      <span class="muted" aria-hidden="true">
        ⟶
      </span>
    )}
  </>
);
