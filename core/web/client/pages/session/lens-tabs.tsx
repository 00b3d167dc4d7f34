/** The tabs of the lenses, and which threads a session has. */
import { useAddress } from '../../address.ts';
import { hrefOf } from '../../base.ts';
import { moveOf } from '../../key-strokes.ts';
import type { OutlineColumns } from '../../store/outline-columns.ts';
import { outlineIndex } from '../../store/outline-index.ts';
import { visibleText } from '../../worker/invisible.ts';
import { lensAddress } from './lens-address.ts';
import { LENSES, lensNamed } from './lenses.ts';
import { useSession } from './session-store.ts';

export function LensTabs({ id, lens }: { id: string; lens: string }) {
  const { go, query } = useAddress();
  const current = lensNamed(lens).name;
  const move = (event: KeyboardEvent) => {
    const step = moveOf({ ArrowRight: 1, ArrowLeft: -1 }, event);
    if (!step) return;
    event.preventDefault();
    const next = LENSES[(LENSES.findIndex(({ name }) => name === current) + step + LENSES.length) % LENSES.length];
    if (!next) return;
    go(lensAddress(id, next.name, query));
    requestAnimationFrame(() => document.getElementById(`tab-${next.name}`)?.focus());
  };
  return (
    <div class="lens-bar">
      <div role="tablist" aria-label="Lenses" class="lens-tabs" onKeyDown={move}>
        {LENSES.map(({ name, word }, n) => (
          <a
            key={name}
            role="tab"
            id={`tab-${name}`}
            href={hrefOf(lensAddress(id, name, query))}
            aria-selected={name === current}
            aria-controls="lens"
            aria-keyshortcuts={`${n + 1}`}
            tabIndex={name === current ? 0 : -1}
          >
            {word}
          </a>
        ))}
      </div>
      <ThreadPicker />
    </div>
  );
}

/** Shown where there are sub-agents. */
function ThreadPicker() {
  const { query, setQuery } = useAddress();
  const columns = useSession().outline.columns.value;
  if (!columns) return null;
  const { threads } = outlineIndex(columns);
  if (threads.length < 2) return null;
  return (
    <label class="thread-picker">
      thread{' '}
      <select
        value={query.get('thread') ?? ''}
        onChange={({ currentTarget }) => setQuery({ thread: currentTarget.value, span: null })}
      >
        {threads.map(({ name, spans }) => (
          <option key={name} value={columns.names[name] ?? ''}>
            {threadWord(columns, name, spans[0])}
          </option>
        ))}
      </select>
    </label>
  );
}

function threadWord({ names, spans }: OutlineColumns, thread: number, agent: number | undefined): string {
  if (names[thread] === '') return 'main';
  const name = names[spans.name[agent ?? -1] ?? -1] ?? names[thread] ?? '';
  const task = spans.label[agent ?? -1] ?? '';
  return visibleText(task === '' ? name : `${name}: ${task}`).slice(0, 80);
}
