/** The list of sessions: what runs, what it cost, what failed, and which was the one. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { useKeys } from '../../keys.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { VirtualListHandle } from '../../parts/virtual-list.tsx';
import { onEvent } from '../../store/live.ts';
import { readList, readMore, sessionList, takeEvent } from '../../store/session-list.ts';
import { FilterBar } from './filter-bar.tsx';
import { activeFilters, listQuery } from './filters.ts';
import { FirstUse } from './first-use.tsx';
import { listKeys } from './list-keys.ts';
import { ListTools } from './list-tools.tsx';
import { NothingFound } from './nothing-found.tsx';
import { rememberedPlace, rememberPlace } from './place.ts';
import { SessionRows } from './session-rows.tsx';
import { useRowActions } from './use-row-actions.tsx';
import { useRowFocus } from './use-row-focus.ts';
import './sessions-page.css';

export function SessionsPage() {
  const { query, setQuery, go } = useAddress();
  const key = listQuery(query).toString();
  const list = sessionList.value;
  const handle = useRef<VirtualListHandle>(null);
  const focus = useRowFocus(list.items, handle);
  const actions = useRowActions(focus.leave);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const place = useRef(rememberedPlace());

  // in this order, and before the frame is painted: what is read is on its way since the document came
  useLayoutEffect(() => onEvent((event) => takeEvent(event) && void readList(sessionList.value.key ?? '')), []);
  useLayoutEffect(() => void readList(key, place.current), [key]);
  const isCurrent = list.key === key;
  useEffect(() => {
    if (!isCurrent || list.loading === 'list' || place.current === null) return;
    const index = list.items.findIndex(({ id }) => id === place.current);
    place.current = null;
    if (index !== -1) focus.move(index, 'center');
  }, [isCurrent, list]);
  useEffect(() => {
    if (isCurrent && list.items.length > 0) performance.mark('svc:rows');
  }, [isCurrent, list.items.length > 0]);

  const current = list.items[focus.index];
  const select = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const showNew = () => {
    if (list.waiting.size === 0) return;
    void readList(key).then(() => handle.current?.scrollToIndex(0, { align: 'start' }));
  };
  useKeys(
    listKeys({
      count: list.items.length,
      index: focus.index,
      focus: focus.move,
      showNew,
      act: (action) => {
        if (current === undefined) return;
        if (action === 'select') return select(current.id);
        if (action !== 'open') return actions[action](current);
        rememberPlace(current.id);
        go(`/sessions/${current.id}`);
      },
    }),
    { scope: 'Sessions' },
  );

  const isEmpty = isCurrent && list.items.length === 0 && list.loading !== 'more';
  const isFirstUse = isEmpty && activeFilters(query).length === 0;
  const isShown = isCurrent && !(list.error !== null && list.items.length === 0);
  const state = isShown ? (isEmpty ? 'empty' : 'ready') : list.error === null ? 'loading' : 'error';
  const again = () => void readList(key);
  const picked = [...selected].filter((id) => list.items.some((session) => session.id === id));
  return (
    <Page name="sessions" title="Sessions" state={state}>
      <div class="page-head">
        <h1>Sessions</h1>
        {!isFirstUse && (
          <ListTools
            waiting={list.waiting.size}
            selected={picked.length}
            onShowNew={showNew}
            onExport={() => actions.exportSome(picked)}
            onUnselect={() => setSelected(new Set())}
          />
        )}
      </div>
      {!isFirstUse && <FilterBar query={query} setQuery={setQuery} />}
      {list.error !== null && <Problem error={list.error} onRetry={list.failed === 'more' ? readMore : again} />}
      {isFirstUse && (
        <FirstUse
          hasCall={list.waiting.size > 0}
          onSeeded={() => {
            showToast('The demo is stored');
            again();
          }}
        />
      )}
      {isEmpty && !isFirstUse && <NothingFound query={query} onDrop={(name) => setQuery({ [name]: null })} />}
      {list.items.length > 0 && (
        <SessionRows
          handle={handle}
          isCurrent={isCurrent}
          focus={focus}
          actions={actions}
          selected={selected}
          onSelect={select}
        />
      )}
      {actions.dialog}
    </Page>
  );
}
