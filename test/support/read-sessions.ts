/** All sessions of a service after captures were replayed through it, read over its API. */
import type { z } from 'zod';
import type { RawTurnPage } from '../../core/model/raw-turn.ts';
import type { SessionPage } from '../../core/model/session.ts';
import type { Span } from '../../core/model/span.ts';
import type { SessionDocument, Trace } from '../../core/model/trace.ts';
import type { Capture } from './replay-captures.ts';
import { eventually, read } from './serve.ts';

export type SessionWithCaptures = z.infer<typeof SessionDocument> & {
  /** The names of its captures, recognised by the exact bytes of request and response, in the order of intake. */
  captures: string[];
};

/** All sessions, by the name of their first capture, once every one of `turns` calls has been derived. */
export async function readSessions(
  api: string,
  captures: readonly Capture[],
  turns: number,
): Promise<Map<string, SessionWithCaptures>> {
  const items = await eventually(
    `${turns} turns`,
    async () => {
      const page = await read<z.infer<typeof SessionPage>>(`${api}/v1/sessions?limit=200`);
      const calls = page.items.flatMap(({ rollup }) => Object.values(rollup.kind_counts));
      return calls.reduce((sum, count) => sum + count, 0) === turns ? page.items : null;
    },
    60_000,
  );
  const sessions = new Map<string, SessionWithCaptures>();
  for (const { id } of items) {
    const document = await read<z.infer<typeof SessionDocument>>(`${api}/v1/sessions/${id}/traces`);
    const names = await capturesOf(api, id, captures);
    sessions.set(names[0] ?? id, { ...document, captures: names });
  }
  return new Map([...sessions].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function capturesOf(api: string, id: string, captures: readonly Capture[]): Promise<string[]> {
  const { items } = await read<z.infer<typeof RawTurnPage>>(
    `${api}/v1/sessions/${id}/raw_turns?include=payload&limit=200`,
  );
  return items
    .sort((a, b) => a.session_seq - b.session_seq)
    .map(({ url, payload }) => {
      const found = captures.find(
        (capture) =>
          capture.path === url &&
          capture.body.toString() === payload?.request.body &&
          capture.response.body.toString() === payload.response?.body,
      );
      return found?.name ?? 'no capture has these bytes';
    });
}

/** The steps of one kind in all traces of a session, in the order of the walk. */
export const spansOf = ({ traces }: SessionWithCaptures, kind: Span['kind'], thread_id?: string): Span[] =>
  traces
    .flatMap(({ spans }) => spans)
    .filter((span) => span.kind === kind && (thread_id === undefined || span.thread_id === thread_id));

/** The traces in which a thread has calls of a model. */
export const tracesOf = ({ traces }: SessionWithCaptures, thread_id: string): Trace[] =>
  traces
    .filter(({ spans }) => spans.some((span) => span.kind === 'llm' && span.thread_id === thread_id))
    .map(({ trace }) => trace);

const MOMENTS = /^(?:started_at|last_seen_at|first_byte_at|ended_at|duration_ns|live|raw_turn_id)$/;
const IDS = /^(?:id|session_id|trace_id|span_id|parent_span_id|(?:from|to)_(?:trace|span)_id)$/;

/**
 * The content of a session without its times: ids are replaced by the order of their first occurrence, so that two replays can be
 * compared. Hashes stay. A session that no harness names has the id of its first request, which is removed too.
 */
export function contentOf(session: SessionWithCaptures): unknown {
  const labels = new Map<string, string>();
  const labelOf = (id: string) => labels.get(id) ?? labels.set(id, `#${labels.size}`).get(id);
  const text = JSON.stringify(session, (key, value: unknown) => {
    if (MOMENTS.test(key)) return undefined;
    return IDS.test(key) && typeof value === 'string' ? labelOf(value) : value;
  });
  const content = JSON.parse(text) as SessionWithCaptures;
  if (content.session.harness_id === 'unknown') content.session.harness_session_id = '';
  content.links = content.links
    .map((link) => [JSON.stringify(link), link] as const)
    .sort()
    .map(([, link]) => link);
  return content;
}
