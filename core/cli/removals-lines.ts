/** What retention removes next and removed last, and the last garbage collection, for the page of `svc status`. */
import type { Status } from '../model/status.ts';
import { lasting, several, sized } from './units.ts';

/** Names and values of rows; none where nothing is removed by itself and nothing was collected. @param now milliseconds since 1970 */
export function removalsLines(
  { retention, last_gc }: Pick<Status, 'retention' | 'last_gc'>,
  now: number,
): [string, string][] {
  const ago = (instant: string) => `${lasting((now - Date.parse(instant)) / 1000)} ago`;
  const lines: [string, string][] = [];
  if (retention) {
    const { last, dry_run } = retention;
    lines.push([
      'retention',
      `${limits(retention)}; ${dry_run ? 'a dry run: would remove' : 'next:'} ${next(retention)}`,
    ]);
    if (last)
      lines.push([
        '',
        `${ago(last.ended_at)}: removed ${several(last.sessions, 'session')} with ${several(last.raw_turns, 'turn')} and ${several(last.slices, 'slice')} of ${sized(last.slice_bytes)}`,
      ]);
  }
  if (last_gc)
    lines.push([
      'garbage',
      `collected ${ago(last_gc.ended_at)}: ${several(last_gc.slices, 'unused slice')} of ${sized(last_gc.slice_bytes)}; ${sized(last_gc.freed_bytes)} given back`,
    ]);
  return lines;
}

type Retention = NonNullable<Status['retention']>;

function limits({ days, max_bytes, projects }: Retention): string {
  return [
    ...(days === undefined ? [] : [`after ${several(days, 'day')}`]),
    ...(max_bytes === undefined ? [] : [`over ${sized(max_bytes)}`]),
    ...(projects.length === 0 ? [] : [`rules of ${several(projects.length, 'project')}`]),
  ].join(', ');
}

function next({ next: { sessions, raw_turns, more, excess_bytes }, free_bytes }: Retention): string {
  const due =
    sessions === 0 ? [] : [`${more ? 'over ' : ''}${several(sessions, 'session')} with ${several(raw_turns, 'turn')}`];
  const oldest = sessions === 0 ? 'the oldest sessions' : 'the oldest of the others';
  const excess = excess_bytes === 0 ? [] : [`${oldest}, since ${sized(excess_bytes)} are too much`];
  const free = free_bytes === 0 ? '' : `; about ${sized(free_bytes)} of the database are free for new rows`;
  return ([...due, ...excess].join(', then ') || 'nothing') + free;
}
