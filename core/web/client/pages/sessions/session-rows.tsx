/** The rows of the list, as many as are in view; more are read when the end comes near. */
import type { RefObject } from 'preact';
import { grouped } from '../../parts/number-text.ts';
import { VirtualList, type VirtualListHandle } from '../../parts/virtual-list.tsx';
import { readMore, sessionList } from '../../store/session-list.ts';
import { rememberPlace } from './place.ts';
import { SessionRow } from './session-row.tsx';
import type { RowActions } from './use-row-actions.tsx';
import type { RowFocus } from './use-row-focus.ts';

const ROW_PX = 56;
/** How many rows before the end the next page is requested. */
const AHEAD = 15;

type SessionRowsProps = {
  handle: RefObject<VirtualListHandle | null>;
  /** False while rows of other filters are still shown. */
  isCurrent: boolean;
  focus: RowFocus;
  actions: RowActions;
  selected: ReadonlySet<string>;
  onSelect: (id: string) => void;
};

export function SessionRows({ handle, isCurrent, focus, actions, selected, onSelect }: SessionRowsProps) {
  const { items, cursor, loading } = sessionList.value;
  const renderRow = (index: number) => {
    const session = items[index];
    if (session === undefined) return null;
    return (
      <SessionRow
        session={session}
        isFocused={focus.id === null || focus.index === -1 ? index === 0 : index === focus.index}
        isSelected={selected.has(session.id)}
        onFocus={() => focus.note(session.id)}
        onOpen={() => rememberPlace(session.id)}
        onSelect={() => onSelect(session.id)}
        onStar={() => actions.star(session)}
        onMenu={(action) => {
          if (action === 'rename') actions.rename(session);
          else if (action === 'delete') actions.remove(session);
          else if (action === 'copy') actions.copy(session);
          else actions.exportSome([session.id]);
        }}
      />
    );
  };
  return (
    <>
      <div class={isCurrent ? 'session-list' : 'session-list outdated'}>
        <VirtualList
          count={items.length}
          setSize={cursor === null ? items.length : -1}
          rowKey={(index) => items[index]?.id ?? index}
          estimate={() => ROW_PX}
          renderRow={renderRow}
          onRange={(_first, last) => {
            if (last >= items.length - AHEAD) void readMore();
          }}
          focusedIndex={Math.max(0, focus.index)}
          label="Sessions"
          handle={handle}
        />
      </div>
      <p class="session-count muted" role="status" data-number="sessions_shown" data-value={items.length}>
        {grouped(items.length)} shown
        {cursor !== null && (loading === 'more' ? ' · reading more …' : ' · more as you scroll')}
      </p>
    </>
  );
}
