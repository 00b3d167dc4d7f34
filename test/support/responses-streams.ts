/** OpenAI's streams of a response: the events in which a document of the Responses format comes, for tests of their readers. */
import { pieces } from './provider-streams.ts';

type Fields = Record<string, unknown>;
export type ResponseDocument = {
  id: string;
  object: 'response';
  status: string;
  model: string;
  output: Fields[];
  usage: Fields | null;
  [key: string]: unknown;
};
export type ResponseEvent = { type: string } & Fields;

/** The events of a document, text in pieces of the given length; the last one is terminal. */
export function responseEvents(document: ResponseDocument, length = 7): ResponseEvent[] {
  const begun = { ...document, status: 'in_progress', output: [], usage: null, error: null, incomplete_details: null };
  const events: ResponseEvent[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...document.output.flatMap((item, output_index) => itemEvents(item, output_index, length)),
    { type: `response.${document.status}`, response: document },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function itemEvents(item: Fields, output_index: number, length: number): ResponseEvent[] {
  const at = { output_index, item_id: item.id };
  const grown = growth(item, at, length);
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, ...grown.start, status: 'in_progress' } },
    ...grown.events,
    { type: 'response.output_item.done', output_index, item },
  ];
}

function growth(item: Fields, at: Fields, length: number): { start: Fields; events: ResponseEvent[] } {
  const grown = (name: string, field: string, whole: unknown, position: Fields = at): ResponseEvent[] => [
    ...pieces(String(whole), length).map((delta) => ({ type: `${name}.delta`, ...position, delta })),
    { type: `${name}.done`, ...position, [field]: whole },
  ];
  const list = (key: 'content' | 'summary') => (Array.isArray(item[key]) ? (item[key] as Fields[]) : []);
  const inParts = (key: 'content' | 'summary', event: string, texts: Record<string, [name: string, field: string]>) =>
    list(key).flatMap((part, index) => {
      const [name, field] = texts[String(part.type)] ?? ['', ''];
      const position = { ...at, [`${key}_index`]: index };
      return [
        { type: `${event}.added`, ...position, part: { ...part, [field]: '' } },
        ...grown(name, field, part[field], position),
        { type: `${event}.done`, ...position, part },
      ];
    });
  switch (item.type) {
    case 'message': {
      const texts: Record<string, [string, string]> = {
        output_text: ['response.output_text', 'text'],
        refusal: ['response.refusal', 'refusal'],
      };
      return { start: { content: [] }, events: inParts('content', 'response.content_part', texts) };
    }
    case 'reasoning': {
      const summaries = inParts('summary', 'response.reasoning_summary_part', {
        summary_text: ['response.reasoning_summary_text', 'text'],
      });
      const contents = inParts('content', 'response.content_part', {
        reasoning_text: ['response.reasoning_text', 'text'],
      });
      return { start: { summary: [], content: [], encrypted_content: 'half' }, events: [...summaries, ...contents] };
    }
    case 'function_call':
      return {
        start: { arguments: '' },
        events: grown('response.function_call_arguments', 'arguments', item.arguments),
      };
    case 'custom_tool_call':
      return { start: { input: '' }, events: grown('response.custom_tool_call_input', 'input', item.input) };
    case 'mcp_call':
      return {
        start: { arguments: '', output: null },
        events: grown('response.mcp_call_arguments', 'arguments', item.arguments),
      };
    case 'code_interpreter_call':
      return {
        start: { code: '', outputs: null },
        events: grown('response.code_interpreter_call_code', 'code', item.code),
      };
    case 'web_search_call':
      return { start: { action: {} }, events: [{ type: 'response.web_search_call.searching', ...at }] };
    default:
      return { start: {}, events: [] };
  }
}
