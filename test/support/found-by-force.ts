/** What finding has to find, by looking through every text that the API shows of a session. */
import type { ContentBlock } from '../../core/model/content-block.ts';
import type { Span } from '../../core/model/span.ts';
import { read } from './serve.ts';

export type ForcedHit = {
  trace_id: string;
  span_id: string;
  place: 'conversation' | 'tools' | 'thinking';
  side: 'input' | 'output' | 'error';
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
