/** The harness's list of what is to be done, as the last result of its task tools left it. */
import { Recorded } from '../../parts/recorded.tsx';

const MOST = 200;

export function TaskList({ tasks }: { tasks: readonly unknown[] }) {
  const known = tasks.slice(0, MOST).flatMap((task) => taskOf(task) ?? []);
  if (known.length === 0) return null;
  const done = known.filter(({ status }) => status === 'completed').length;
  return (
    <details class="tasks">
      <summary>
        {done} of {known.length} tasks done
      </summary>
      <ul>
        {known.map(({ subject, status }, n) => (
          <li key={n} data-status={status}>
            <span aria-hidden="true">{status === 'completed' ? '☑' : status === 'in_progress' ? '◐' : '☐'}</span>{' '}
            <span class="spoken">{status}: </span>
            <Recorded text={subject.slice(0, 500)} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function taskOf(task: unknown): { subject: string; status: string } | null {
  if (typeof task !== 'object' || task === null) return null;
  const { subject, status } = task as Record<string, unknown>;
  return typeof subject === 'string' ? { subject, status: typeof status === 'string' ? status : '' } : null;
}
