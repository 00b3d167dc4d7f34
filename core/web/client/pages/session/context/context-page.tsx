/** The page of one call's context: the blocks that the model saw, what they took, and what changed since another call. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { CallContext } from '../../../../../model/call-context.ts';
import { useAddress } from '../../../address.ts';
import { readContext } from '../../../api/context.ts';
import { readBody } from '../../../api/raw-turns.ts';
import { hrefOf } from '../../../base.ts';
import { useKeys } from '../../../keys.ts';
import { Page } from '../../../parts/page.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { showToast } from '../../../parts/toast.tsx';
import { pageState, useReading } from '../../use-reading.ts';
import { callPath } from '../call/call-path.ts';
import { CallPlace } from '../call/call-place.tsx';
import { useCallAddress } from '../call/use-call-address.ts';
import { useCalls } from '../call/use-calls.ts';
import { barCells } from './bar-cells.ts';
import { type Entry, entriesOf } from './block-changes.ts';
import { BlockList } from './block-list.tsx';
import { BlockPanel } from './block-panel.tsx';
import { type BlockOrder, blockGroups, blockRows, entryKey, firstToShow, foldKey } from './block-rows.ts';
import { changeCounts, changeText } from './block-sums.ts';
import { ContextBar } from './context-bar.tsx';
import { ContextHead } from './context-head.tsx';
import { ContextNotes } from './context-notes.tsx';
import { membersOf } from './wire-members.ts';
import './context.css';

const PATH = /^\/sessions\/([\da-f-]{36})\/calls\/(\d{1,15})$/;
const READY = 'svc:context-ready';
const ORDERS = [
  ['kind', 'by kind'],
  ['cache', 'cache order'],
  ['wire', 'order on the wire'],
] as const;

export function ContextPage() {
  const { query } = useAddress();
  const { session, raw_turn_id } = useCallAddress(PATH);
  if (query.has('side') || query.has('view')) return <ToBytes {...{ session, raw_turn_id }} />;
  return <CallContextPage {...{ session, raw_turn_id }} />;
}

type CallProps = { session: string; raw_turn_id: number };

/** An address of when the bytes were here. */
function ToBytes({ session, raw_turn_id }: CallProps) {
  const { query, go } = useAddress();
  useEffect(() => go(`${callPath(session, raw_turn_id, 'bytes')}?${query}`, { replace: true }), []);
  return null;
}

function CallContextPage({ session, raw_turn_id }: CallProps) {
  const { query } = useAddress();
  const against = query.get('against');
  const of = useCalls(session);
  const key = `${raw_turn_id} ${against ?? ''}`;
  const reading = useReading<CallContext>(key, (signal) => {
    performance.clearMarks(READY);
    return readContext(raw_turn_id, against, signal);
  });
  const { answer, error, retry } = reading;
  const isShown = reading.key === key && answer !== null;
  const state = error !== null ? 'error' : isShown ? pageState(reading) : 'loading';
  return (
    <Page name="context" title={`Call ${raw_turn_id}: context`} state={state}>
      <CallPlace {...{ session, raw_turn_id, of }} current="context" kept={keptQuery(query)} />
      {error !== null && (
        <>
          <Problem error={error} onRetry={retry} />
          <p>
            What passed is on the page of <a href={hrefOf(callPath(session, raw_turn_id, 'bytes'))}>its bytes</a>.
          </p>
        </>
      )}
      {answer && error === null && (
        <Context key={reading.key} session={session} calls={of.calls} context={answer} isShown={isShown} />
      )}
    </Page>
  );
}

/** How the blocks are shown stays when another call is looked at. */
function keptQuery(query: URLSearchParams): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name === 'order' || name === 'only'));
  return kept.size > 0 ? `?${kept}` : '';
}

type ContextProps = { session: string; calls: readonly number[]; context: CallContext; isShown: boolean };

function Context({ session, calls, context, isShown }: ContextProps) {
  const { query, setQuery } = useAddress();
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const order: BlockOrder = ORDERS.find(([name]) => name === query.get('order'))?.[0] ?? 'kind';
  const changedOnly = query.get('only') === 'changed' && context.against !== null;
  const roots = useMembers(context.raw_turn_id, order === 'wire');
  const entries = useMemo(() => entriesOf(context), [context]);
  const cells = useMemo(() => barCells(context, entries), [context]);
  const groups = useMemo(() => blockGroups(context, order, roots), [context, order, roots]);
  const rows = blockRows(groups, { order, toggled, changedOnly });
  const named = query.get('block');
  const selected = entries.find((entry) => entryKey(entry) === named) ?? firstToShow(context, entries);
  const select = (entry: Entry | undefined) => entry && setQuery({ block: entryKey(entry) }, { replace: true });
  const selectBlock = (n: number) => select(entries.find(({ block }) => block?.n === n));
  const markReady = () => {
    if (isShown && performance.getEntriesByName(READY).length === 0) performance.mark(READY);
  };
  useEffect(() => {
    if (selected === null) markReady();
  }, [selected, isShown]);
  const toggle = (key: string) => {
    const next = new Set(toggled);
    if (!next.delete(key)) next.add(key);
    setToggled(next);
  };
  const show = (patch: Record<string, string | null>) => setQuery(patch, { replace: true });
  useKeys(
    {
      o: {
        does: 'another order of the blocks',
        run: () => {
          const next = ORDERS[(ORDERS.findIndex(([name]) => name === order) + 1) % ORDERS.length]?.[0] ?? 'kind';
          show({ order: next === 'kind' ? null : next });
        },
      },
      d: {
        does: 'only what changed, or all',
        run: () => context.against !== null && show({ only: changedOnly ? null : 'changed' }),
      },
    },
    { scope: 'Context' },
  );
  return (
    <div class="context" data-call={context.raw_turn_id} data-against={context.against?.raw_turn_id ?? ''}>
      <ContextHead context={context} calls={calls} onSelect={selectBlock} />
      <ContextBar context={context} cells={cells} selected={selected?.block?.n ?? -1} onSelect={selectBlock} />
      <div class="context-columns">
        <div class="context-blocks">
          <div class="context-tools">
            <select
              aria-label="Order of the blocks"
              aria-keyshortcuts="o"
              title="Order of the blocks (o)"
              value={order}
              onChange={({ currentTarget: { value } }) => show({ order: value === 'kind' ? null : value })}
            >
              {ORDERS.map(([name, word]) => (
                <option key={name} value={name}>
                  {word}
                </option>
              ))}
            </select>
            {context.against && (
              <label class="check" title="Only what changed (d)">
                <input
                  type="checkbox"
                  aria-keyshortcuts="d"
                  checked={changedOnly}
                  onChange={({ currentTarget: { checked } }) => show({ only: checked ? 'changed' : null })}
                />
                only what changed
              </label>
            )}
            <span class="muted" data-changes={changeText(changeCounts(entries), context.against !== null)}>
              {context.blocks.length} blocks
              {context.against && `: ${changeText(changeCounts(entries), true)}`}
            </span>
          </div>
          {rows.length === 0 ? (
            <p class="muted">{changedOnly ? 'Nothing changed.' : 'The prompt has no blocks.'}</p>
          ) : (
            <BlockList
              {...{ context, rows }}
              selected={selected ? entryKey(selected) : ''}
              onSelect={select}
              onToggle={({ group }) => toggle(foldKey(group, { order, changedOnly }))}
            />
          )}
        </div>
        <ContextNotes context={context} calls={calls} onSelect={selectBlock} />
        {selected ? (
          <BlockPanel {...{ session, context, calls }} entry={selected} onReady={markReady} />
        ) : (
          <p class="muted">Choose a block to read it.</p>
        )}
      </div>
    </div>
  );
}

/** The members of the request in the order in which they were sent; none until they are known, or where it is no JSON. */
function useMembers(raw_turn_id: number, isWanted: boolean): readonly string[] {
  const [members, setMembers] = useState<readonly string[]>([]);
  useEffect(() => {
    if (!isWanted || members.length > 0) return;
    const controller = new AbortController();
    readBody(raw_turn_id, 'request', { as: 'decoded', signal: controller.signal }).then(
      (bytes) => setMembers(membersOf(new TextDecoder().decode(bytes))),
      () => !controller.signal.aborted && showToast('The order on the wire could not be read'),
    );
    return () => controller.abort();
  }, [raw_turn_id, isWanted]);
  return members;
}
