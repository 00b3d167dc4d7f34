/** A reader of outlines, as a page is one: it lays each answer over what it has. */
import { Outline } from '../../core/model/outline.ts';
import type { testApi } from './read-api.ts';

type Row = Record<string, unknown>;

/** What a reader has, in a form that compares: no index, no revision, no order of arrival. */
export type Read = { traces: Record<string, Row>; spans: Record<string, Row>; links: string[] };

export type OutlineReader = {
  /** Reads what changed since the last time. @returns the answers, one for each page */
  follow(): Promise<Outline[]>;
  read(): Read;
};

export function outlineReader(api: ReturnType<typeof testApi>, session_id: string): OutlineReader {
  let rev = '0';
  let traces = new Map<string, Row>();
  let spans = new Map<string, Row>();
  let links = new Map<string, { ends: [string, string]; isElsewhere: boolean }>();

  const page = async (cursor: string | undefined): Promise<Outline> => {
    const query = new URLSearchParams({ after: rev, ...(cursor === undefined ? {} : { cursor }) });
    const response = await api.request(`/v1/sessions/${session_id}/outline?${query}`);
    if (response.status !== 200)
      throw new Error(`Cannot read the outline: ${response.status} ${await response.text()}`);
    return Outline.parse(await response.json());
  };

  const lay = (answer: Outline) => {
    const ids = answer.spans.span_id.map((id, i) => `${answer.traces.trace_id[answer.spans.trace[i] ?? -1]} ${id}`);
    const ref = (index: number): string => {
      if (index < 0) return '';
      const other = answer.others[index - ids.length];
      return ids[index] ?? (other ? `${other.trace_id} ${other.span_id}` : 'nothing');
    };
    for (const row of rows(answer, answer.traces)) traces.set(String(row.trace_id), row);
    for (const [i, row] of rows(answer, answer.spans).entries())
      spans.set(ids[i] ?? '', { ...row, trace: ids[i]?.split(' ')[0], parent: ref(answer.spans.parent[i] ?? -1) });
    const mine = new Set(ids);
    for (const [key, { ends, isElsewhere }] of links)
      if (isElsewhere || ends.some((end) => mine.has(end))) links.delete(key);
    for (const [i, kind] of answer.links.kind.entries()) {
      const ends: [string, string] = [ref(answer.links.from[i] ?? -1), ref(answer.links.to[i] ?? -1)];
      const others = [answer.links.from[i], answer.links.to[i]].map((end = -1) => answer.others[end - ids.length]);
      const isElsewhere = others.some((other) => other !== undefined && other.session_id !== session_id);
      links.set(`${answer.names[kind]} ${ends.join(' ')}`, { ends, isElsewhere });
    }
  };

  return {
    async follow() {
      const answers: Outline[] = [];
      for (let cursor: string | undefined; ; ) {
        const answer = await page(cursor);
        if (answers.length === 0 && answer.whole) {
          traces = new Map();
          spans = new Map();
          links = new Map();
        }
        lay(answer);
        answers.push(answer);
        cursor = answer.next_cursor;
        if (cursor !== undefined) continue;
        rev = answer.rev;
        return answers;
      }
    },
    read: () => ({
      traces: Object.fromEntries([...traces].sort(byKey)),
      spans: Object.fromEntries([...spans].sort(byKey)),
      links: [...links.keys()].sort(),
    }),
  };
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

const NAMED = new Set([
  ...['status', 'source', 'synthetic', 'kind', 'call_kind', 'name', 'thread', 'error_type', 'model', 'stop_reason'],
  'verdict',
]);

/** The rows of columns, with words in place of their indexes and moments in place of distances. */
function rows({ names, base_at }: Outline, columns: Record<string, unknown[]>): Row[] {
  const base = BigInt(Date.parse(base_at)) * 1000n + BigInt(base_at.slice(23, 26));
  const shown = (name: string, value: unknown): unknown => {
    if (NAMED.has(name)) return names[value as number];
    if (['started_us', 'first_byte_us'].includes(name) && value !== null) return String(base + BigInt(value as number));
    return value;
  };
  const length = Object.values(columns)[0]?.length ?? 0;
  for (const [name, column] of Object.entries(columns))
    if (column.length !== length) throw new Error(`Cannot read the outline: "${name}" is of another length`);
  return Array.from({ length }, (_, i) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, shown(name, column[i])])),
  );
}
