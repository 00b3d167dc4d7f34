/** The events of a streamed body: a row each, and the data of the one that is chosen. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { moveOf } from '../../../key-strokes.ts';
import { FixedRows, type FixedRowsHandle } from '../../../parts/fixed-rows.tsx';
import { JsonRows } from '../../../parts/json-rows.tsx';
import { PlainText } from '../../../parts/plain-text.tsx';
import { Visible } from '../../../parts/recorded.tsx';
import { type BodyEvent, jsonOf } from './body-form.ts';

const ROW_PX = 24;
const SHOWN = 300; // characters of the data in a row

export function EventRows({ events }: { events: readonly BodyEvent[] }) {
  const [active, setActive] = useState(0);
  const list = useRef<FixedRowsHandle>(null);
  const chosen = events[active];
  const goTo = (next: number) => {
    if (next < 0 || next >= events.length) return;
    setActive(next);
    list.current?.reveal(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: events.length - 1 },
      ...{ PageDown: Math.min(active + 10, events.length - 1), PageUp: Math.max(active - 10, 0) },
    };
    const next = moveOf(steps, event);
    if (next === undefined) return;
    event.preventDefault();
    goTo(next);
  };
  return (
    <div class="events">
      <FixedRows
        role="listbox"
        label="Events of the answer"
        count={events.length}
        height={ROW_PX}
        rowKey={(n) => n}
        active={active}
        handle={list}
        onKeyDown={onKeyDown}
        rowAttributes={(n) => ({
          'aria-selected': n === active,
          class: n === active ? 'event-row active' : 'event-row',
          'data-event': n,
          onClick: () => setActive(n),
        })}
        renderRow={(n) => (
          <>
            <span class="muted event-number">{n + 1}</span>
            <b>
              <bdi>
                <Visible text={events[n]?.name.slice(0, 80) || 'message'} />
              </bdi>
            </b>
            <bdi class="mono event-data">
              <Visible text={events[n]?.data.slice(0, SHOWN) ?? ''} />
            </bdi>
          </>
        )}
      />
      {chosen && <EventData key={active} event={chosen} />}
    </div>
  );
}

function EventData({ event: { data, id } }: { event: BodyEvent }) {
  const parsed = useMemo(() => jsonOf(data), [data]);
  return (
    <div class="event-whole" data-event-data>
      {id !== '' && (
        <p class="muted">
          id <Visible text={id} />
        </p>
      )}
      {parsed ? (
        <JsonRows value={parsed.value} label="Data of the event" openTo={5} />
      ) : (
        <PlainText text={data} isMono />
      )}
    </div>
  );
}
