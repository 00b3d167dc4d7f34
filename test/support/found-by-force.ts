/** What finding has to find, by looking through every text that the API shows of a session. */
import type { BlockContent, CallContext } from '../../core/model/call-context.ts';
import type { ContentBlock } from '../../core/model/content-block.ts';
import type { Span } from '../../core/model/span.ts';
import { read } from './serve.ts';

export type ForcedHit = {
  trace_id: string;
  span_id: string;
  place: 'conversation' | 'tools' | 'thinking' | 'prompt';
  side: 'input' | 'output' | 'error' | 'prompt';
  block: number;
  start: number;
  end: number;
  match: string;
};

type Document = { traces: { spans: Span[] }[] };

/** Every place where a text is, without regard to capital letters, in the order of the conversation. */
export async function foundByForce(api: string, session_id: string, text: string): Promise<ForcedHit[]> {
  const { traces } = await read<Document>(`${api}/v1/sessions/${session_id}/traces`);
  return traces.flatMap(({ spans }) => spans.flatMap((span) => inSpan(span, text)));
}

/** Every place where a text is in the system prompts and tools of a session: of blocks that are the same, in the first call that has it. */
export async function foundInPromptsByForce(api: string, session_id: string, text: string): Promise<ForcedHit[]> {
  const { traces } = await read<Document>(`${api}/v1/sessions/${session_id}/traces`);
  const calls = traces
    .flatMap(({ spans }) => spans)
    .filter(({ kind, raw_turn_id }) => kind === 'llm' && raw_turn_id !== undefined)
    .sort((a, b) => (a.raw_turn_id ?? 0) - (b.raw_turn_id ?? 0));
  const seen = new Set<string>();
  const hits: ForcedHit[] = [];
  for (const { trace_id, span_id, raw_turn_id } of calls) {
    const { blocks } = await read<CallContext>(`${api}/v1/raw_turns/${raw_turn_id}/context`);
    for (const { n, id } of blocks.filter(({ section }) => section !== 'messages')) {
      if (seen.has(id)) continue;
      seen.add(id);
      const content = await read<BlockContent>(`${api}/v1/raw_turns/${raw_turn_id}/blocks/${n}`);
      const own = content.text ?? strings(content.json).join('\n');
      const where = { trace_id, span_id, place: 'prompt', side: 'prompt', block: n } as const;
      hits.push(...places(own, text).map((found) => ({ ...where, ...found })));
    }
  }
  return hits;
}

function inSpan({ trace_id, span_id, kind, input, output, error_message = '' }: Span, text: string): ForcedHit[] {
  const place = kind === 'tool' ? 'tools' : 'conversation';
  const inSide = (side: 'input' | 'output', blocks: readonly ContentBlock[]) =>
    blocks.flatMap((block, n) => {
      if (kind !== 'tool' && block.tool_input !== undefined) return []; // the tool has a span of its own
      const own = block.thinking === undefined ? place : 'thinking';
      return places(textOf(block), text).map(
        (found) => ({ ...{ trace_id, span_id, side, block: n }, ...found, place: own }) as const,
      );
    });
  const failed = places(error_message, text).map(
    (found) => ({ trace_id, span_id, place, side: 'error', block: 0, ...found }) as const,
  );
  return [...inSide('input', input), ...inSide('output', output), ...failed];
}

const textOf = ({ thinking, tool_input, tool_output, text, content }: ContentBlock): string =>
  thinking ??
  (tool_input !== undefined ? strings(tool_input).join('\n') : (tool_output ?? text ?? strings(content).join('\n')));

const strings = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strings)
      : [];

function places(text: string, sought: string): { start: number; end: number; match: string }[] {
  const found = [];
  const [all, one] = [text.toLowerCase(), sought.toLowerCase()];
  for (let at = all.indexOf(one); at >= 0; at = all.indexOf(one, at + one.length))
    found.push({ start: at, end: at + one.length, match: text.slice(at, at + one.length) });
  return found;
}
