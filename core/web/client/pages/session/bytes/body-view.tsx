/** A body in one of the forms that fit it: rows of JSON, events, text, or hex. */
import { useRef, useState } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { FixedRows } from '../../../parts/fixed-rows.tsx';
import { JsonRows } from '../../../parts/json-rows.tsx';
import type { BodyForm, BodyView as View } from './body-form.ts';
import { EventRows } from './event-rows.tsx';
import { BYTES_PER_ROW, hexRow } from './hex-rows.ts';
import { TextView } from './text-view.tsx';
import './body.css';

const NAMES: Readonly<Record<View, string>> = { json: 'JSON', events: 'Events', text: 'Text', hex: 'Hex' };
const LINE_PX = 20;

export function BodyView({ bytes, form }: { bytes: Uint8Array; form: BodyForm }) {
  const { query, setQuery } = useAddress();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const wanted = form.views.find((view) => view === query.get('view')) ?? form.views[0] ?? 'hex';
  const [view, setView] = useState(wanted);
  const show = (next: View) => {
    setView(next);
    setQuery({ view: next }, { replace: true });
  };
  if (bytes.length === 0) return <p class="muted">The body is empty.</p>;
  return (
    <div class="body" data-view={view} ref={box}>
      <fieldset class="body-views" aria-label="Form of the body">
        {form.views.map((one) => (
          <button key={one} type="button" aria-pressed={one === view} onClick={() => show(one)}>
            {NAMES[one]}
            {one === 'events' && ` ${form.events.length}`}
          </button>
        ))}
      </fieldset>
      {view === 'json' && form.json && (
        <div class="body-json">
          <JsonRows value={form.json.value} label="The body as JSON" openTo={3} />
          <p class="muted">
            <kbd>y</kbd> copies the path of a row
          </p>
        </div>
      )}
      {view === 'events' && <EventRows events={form.events} />}
      {view === 'text' && form.text !== null && width > 0 && <TextView text={form.text} width={width} />}
      {view === 'hex' && (
        <FixedRows
          role="list"
          label="The body in hex"
          count={Math.ceil(bytes.length / BYTES_PER_ROW)}
          height={LINE_PX}
          rowKey={(n) => n}
          rowAttributes={() => ({ class: 'hex-row mono' })}
          renderRow={(n) => {
            const { offset, hex, ascii } = hexRow(bytes, n);
            return (
              <>
                <span class="muted">{offset}</span> <span>{hex.padEnd(48)}</span> <span>{ascii}</span>
              </>
            );
          }}
        />
      )}
    </div>
  );
}
