/** Talk: the session as a conversation, its tools folded and joined to their results. */
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { VirtualList } from '../../../parts/virtual-list.tsx';
import { now } from '../../../store/clock.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { statusOf } from '../../sessions/row-text.ts';
import { type SessionStore, useSession } from '../session-store.ts';
import { Breadcrumb } from './breadcrumb.tsx';
import { type Folds, folds } from './folds.ts';
import { rowHeight } from './row-height.ts';
import { textOfRow } from './row-text.ts';
import { type Talk, TalkContext } from './talk-context.ts';
import { rowAttributes, rowKey, TalkRow } from './talk-row.tsx';
import { type TalkRows, talkRows } from './talk-rows.ts';
import { useFindLanding } from './use-find-landing.ts';
import { useFollowing } from './use-following.ts';
import { useNewSteps } from './use-new-steps.ts';
import { useSpanReady } from './use-span-ready.ts';
import { useStepPanel } from './use-step-panel.tsx';
import { useTalkKeys } from './use-talk-keys.ts';
import { useTalkPosition } from './use-talk-position.ts';
import { useTalkTexts } from './use-talk-texts.ts';
import { wantedSpan } from './wanted-texts.ts';
import './talk.css';
import './talk-agent.css';
import './talk-tool.css';

const foldsOf = new WeakMap<SessionStore, Folds>(); // they outlive a look at another lens

export function TalkLens() {
  const store = useSession();
  const columns = store.outline.columns.value;
  const own = foldsOf.get(store) ?? folds();
  foldsOf.set(store, own);
  return columns && <TalkList store={store} columns={columns} folds={own} />;
}

function TalkList({ store, columns, folds }: { store: SessionStore; columns: OutlineColumns; folds: Folds }) {
  const { query, setQuery } = useAddress();
  const thread = query.get('thread') ?? '';
  const { texts, outline } = store;
  const session = store.session.value;
  const isComplete = outline.complete.value;
  const rows = useRows(columns, folds, thread);
  const position = useTalkPosition({ columns, rows, folds, thread, isComplete, find: store.find });
  const { handle, focusedRow, show, noteFocus, goTo, jump } = position;
  const { range, setRange } = useTalkTexts(columns, rows, folds, texts);
  useSpanReady({ columns, rows, folds, texts, sought: position.sought, range });
  const list = () => handle.current?.element() ?? null;
  useFindLanding({ columns, rows, folds, list, show, goTo });
  store.find.readerAt.current = () => {
    const row = focusedRow >= 0 ? focusedRow : (handle.current?.range()?.first ?? -1);
    return rows.kind[row] === 'trace' || rows.kind[row] === 'beside' ? (rows.of[row + 1] ?? -1) : (rows.of[row] ?? -1);
  };
  const isFollowing = useFollowing(handle, session !== null && statusOf(session, now.peek()) === 'live');
  const fresh = useNewSteps(
    isComplete ? columns.spans.count : 0,
    () => isFollowing && (handle.current?.isAtEnd() ?? true),
  );
  const beside = useStepPanel({ columns, texts, goTo });
  const wasPart = usePrevious(!isComplete, true);
  const width = useRef(0);
  width.current = list()?.clientWidth ?? width.current;
  const talk = useMemo<Talk>(
    () => ({ columns, rows, folds, goTo: (span) => void goTo(span), openThread, openPanel: beside.open }),
    [columns, rows, folds],
  );
  const keyOf = useMemo(() => once((row) => rowKey(talk, row)), [talk]);
  const drawn = useDrawnRows(talk);
  const focusedSpan =
    rows.kind[focusedRow] === 'trace' || rows.kind[focusedRow] === 'beside' ? undefined : rows.of[focusedRow];
  const showEnd = () => {
    fresh.clear();
    handle.current?.scrollToEnd();
  };
  useTalkKeys({
    ...{ folds, jump, showEnd },
    showStart: () => show(0),
    showDetails: () => focusedSpan !== undefined && beside.open(focusedSpan),
    copyAs: () => focusedSpan !== undefined && beside.copy(focusedSpan),
    toggleRow: () => toggle(rows, columns, folds, focusedRow),
    rowText: async () => {
      const kind = rows.kind[focusedRow];
      if (kind === undefined || focusedSpan === undefined) return null;
      return textOfRow(kind, await texts.readWhole(wantedSpan(columns, focusedSpan)));
    },
  });
  const open = `${folds.openOf('tool')} ${folds.openOf('context')} ${folds.openOf('compaction')}`;
  const height = useMemo(
    () => once(rowHeight(columns, rows, folds, width.current || innerWidth)),
    [columns, rows, width.current, open],
  );
  return (
    <TalkContext.Provider value={talk}>
      {thread !== '' && <Breadcrumb columns={columns} thread={thread} />}
      <div class="talk-body">
        <VirtualList
          class="talk-list"
          label="Conversation"
          count={rows.count}
          rowKey={keyOf}
          estimate={height}
          renderRow={drawn}
          rowAttributes={(row) => ({
            ...rowAttributes(talk, row),
            tabIndex: row === focusedRow ? 0 : -1,
            onFocusCapture: () => noteFocus(row),
          })}
          onRange={(first, last) => setRange({ first, last })}
          followEnd={isFollowing}
          keepsPlace={wasPart && position.sought !== null}
          focusedIndex={focusedRow < 0 ? undefined : focusedRow}
          handle={handle}
          setSize={isComplete ? rows.count : -1}
        />
        {beside.view}
      </div>
      {fresh.count > 0 && (
        <button type="button" class="new-steps" onClick={showEnd}>
          {fresh.count} new {fresh.count === 1 ? 'step' : 'steps'} ↓ <kbd>G</kbd>
        </button>
      )}
    </TalkContext.Provider>
  );

  function openThread(name: string, from: number): void {
    setQuery({ span: columns.spans.span_id[from] ?? null }, { replace: true }); // Back leads to the card
    setQuery({ thread: name, span: null });
  }
}

/** The value at the last render. */
function usePrevious<Value>(value: Value, first: Value): Value {
  const last = useRef(first);
  useEffect(() => {
    last.current = value;
  });
  return last.current;
}

/** The rows of what is on screen now. */
function useRows(columns: OutlineColumns, folds: Folds, thread: string): TalkRows {
  const beside = folds.beside.value;
  const { span_id } = columns.spans;
  const isOpen = (agent: number) => folds.isOpen('agent', span_id[agent] ?? '');
  const agents = folds.openOf('agent');
  return useMemo(() => talkRows(columns, { thread, beside, isOpen }), [columns, thread, beside, agents]);
}

function toggle(rows: TalkRows, { spans }: OutlineColumns, folds: Folds, row: number): boolean {
  const kind = rows.kind[row];
  const id = spans.span_id[rows.of[row] ?? -1] ?? '';
  if (kind === 'beside') folds.beside.value = true;
  else if (kind === 'tool' || kind === 'context' || kind === 'agent' || kind === 'compaction') folds.toggle(kind, id);
  else if (kind === 'step')
    folds.toggle(
      rows.tries.has(rows.of[row] ?? -1) ? 'tries' : 'thinking',
      rows.tries.has(rows.of[row] ?? -1) ? id : `${id} out 0`,
    );
  else return false;
  return true;
}

/** Keeps what it returned: where one row of a hundred thousand is measured, the list wants it of all rows below. */
function once<Made>(make: (row: number) => Made): (row: number) => Made {
  const made: Made[] = [];
  return (row) => {
    made[row] ??= make(row);
    return made[row];
  };
}

const MOST_DRAWN = 400;

/** Draws a row once for as long as nothing of Talk changes: what is scrolled has nothing to be compared then. */
function useDrawnRows(talk: Talk): (row: number) => VNode {
  const drawn = useMemo(() => new Map<number, VNode>(), [talk]);
  return (row) => {
    const known = drawn.get(row) ?? <TalkRow row={row} />;
    if (drawn.size > MOST_DRAWN) drawn.clear();
    drawn.set(row, known);
    return known;
  };
}
