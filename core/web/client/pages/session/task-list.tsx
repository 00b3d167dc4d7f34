/** The harness's list of what is to be done, as the last result of its task tools left it, and where each was changed last. */
import { useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { Recorded } from '../../parts/recorded.tsx';
import type { OutlineColumns } from '../../store/outline-columns.ts';
import { outlineIndex } from '../../store/outline-index.ts';
import { useSession } from './session-store.ts';

const MOST = 200;

type Task = { subject: string; status: string; changed_by: string };

export function TaskList({ tasks }: { tasks: readonly unknown[] }) {
  const [isOpen, setOpen] = useState(false);
  const known = tasks.slice(0, MOST).flatMap((task) => taskOf(task) ?? []);
  if (known.length === 0) return null;
  const done = known.filter(({ status }) => status === 'completed').length;
  return (
    <details class="tasks" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {done} of {known.length} tasks done
      </summary>
      {isOpen && <Tasks tasks={known} />}
    </details>
  );
}

function Tasks({ tasks }: { tasks: readonly Task[] }) {
  const { setQuery } = useAddress();
  const columns = useSession().outline.columns.value;
  const prompts = columns ? promptsOf(columns, new Set(tasks.map(({ changed_by }) => changed_by))) : null;
  return (
    <ul>
      {tasks.map(({ subject, status, changed_by }, n) => (
        <li key={n} data-status={status}>
          <span aria-hidden="true">{status === 'completed' ? '☑' : status === 'in_progress' ? '◐' : '☐'}</span>{' '}
          <span class="spoken">{status}: </span>
          <Recorded text={subject.slice(0, 500)} />{' '}
          {prompts?.has(changed_by) && (
            <button type="button" class="fold muted" onClick={() => setQuery({ span: changed_by, thread: null })}>
              since prompt {prompts.get(changed_by)}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The numbers of the prompts in which these spans are. */
function promptsOf(columns: OutlineColumns, wanted: ReadonlySet<string>): Map<string, number> {
  const { traces } = outlineIndex(columns);
  const { span_id, trace } = columns.spans;
  const found = new Map<string, number>();
  for (const [span, id] of span_id.entries()) if (wanted.has(id)) found.set(id, traces.indexOf(trace[span] ?? -1) + 1);
  return found;
}

function taskOf(task: unknown): Task | null {
  if (typeof task !== 'object' || task === null) return null;
  const { subject, status = '', changed_by = '' } = task as Record<string, unknown>;
  return typeof subject === 'string' ? { subject, status: String(status), changed_by: String(changed_by) } : null;
}
