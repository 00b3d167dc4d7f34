/** The response that the events of a stream of OpenAI's Responses format build, and the items of its output. */
import type { Reply } from '../model/reply.ts';
import { type Fields, fields, isFields, text } from './json.ts';
import { errorIn } from './openai-error.ts';
import type { StreamEvent } from './sse.ts';

export type StreamedResponse = {
  /** Each member as the last event that held it; `output` is the terminal event's, if that held one, else built from the others. */
  response: Fields;
  ended: boolean; // by a terminal event
  error: Reply['error'];
};

const endings = new Set(['response.completed', 'response.incomplete', 'response.failed']);

export function streamedResponse(events: readonly StreamEvent[]): StreamedResponse {
  const latest = new Map<string, unknown>(); // of the response's members; never copied, since each event may add another
  let ended = false;
  let unreadable = false;
  let error: Reply['error'] = null;
  const output = growingOutput();

  for (const event of events) {
    if (event === 'unreadable') unreadable = true;
    const payload = fields(typeof event === 'string' ? null : event.json);
    const type = text(payload.type);
    for (const [key, value] of Object.entries(fields(payload.response))) latest.set(key, value);
    if (endings.has(type)) {
      ended = true;
      latest.set('status', text(fields(payload.response).status) || type.slice('response.'.length));
    } else if (type === 'error' || isFields(payload.error)) error = eventError(payload);
    else output.add(type, payload);
  }
  const response: Fields = Object.fromEntries(latest);
  const hasOutput = ended && Array.isArray(response.output) && response.output.length > 0;
  // an output that the terminal event holds whole cannot have been lost with an event before it
  if (unreadable && !hasOutput) {
    error ??= { type: 'unreadable_event', message: 'Cannot read an event of the stream: it is no JSON' };
    ended = false;
  }
  return { response: hasOutput ? response : { ...response, output: output.whole() }, ended, error };
}

/** `{type: 'error', code, message}`, or the error in a member of its own. */
const eventError = (payload: Fields): Reply['error'] =>
  typeof payload.error === 'string' ? errorIn(payload) : failure(isFields(payload.error) ? payload.error : payload);

/** This format names its errors by `code`; a `type` beside it is less specific. */
export const failure = (error: Fields): Reply['error'] =>
  errorIn({ error: { ...error, type: (error.code === '' ? null : error.code) ?? error.type } });

/** An item under way. Its lists are maps by index, since the provider may send them in any order. */
type Growing = { raw: Fields; done: boolean; lists: Record<List, Map<number, Fields>> };
type List = 'content' | 'summary';
type DeltaTarget = { item: string; list?: List; part?: string; field: string };

/** Where a delta's text goes, and the types to assume when the start was lost. `.done` repeats the whole text. */
const deltaTargets: Record<string, DeltaTarget> = {
  'response.output_text': { item: 'message', list: 'content', part: 'output_text', field: 'text' },
  'response.refusal': { item: 'message', list: 'content', part: 'refusal', field: 'refusal' },
  'response.reasoning_text': { item: 'reasoning', list: 'content', part: 'reasoning_text', field: 'text' },
  'response.reasoning_summary_text': { item: 'reasoning', list: 'summary', part: 'summary_text', field: 'text' },
  'response.function_call_arguments': { item: 'function_call', field: 'arguments' },
  'response.custom_tool_call_input': { item: 'custom_tool_call', field: 'input' },
  'response.mcp_call_arguments': { item: 'mcp_call', field: 'arguments' },
  'response.code_interpreter_call_code': { item: 'code_interpreter_call', field: 'code' },
};

function growingOutput() {
  const items = new Map<number, Growing>();
  const indices = new Map<string, number>(); // by an item's id
  let newest = 0;

  const put = (index: number, item: Growing): Growing => {
    items.set(index, item);
    if (text(item.raw.id) !== '') indices.set(text(item.raw.id), index);
    newest = index;
    return item;
  };
  const indexOf = (event: Fields, id: unknown): number | undefined =>
    typeof event.output_index === 'number' ? event.output_index : indices.get(text(id));
  /** The item that a delta belongs to; null once it is done. */
  const itemAt = (event: Fields, type: string): Growing | null => {
    const index = indexOf(event, event.item_id) ?? newest;
    const known = items.get(index) ?? put(index, growing(type === 'message' ? { type, role: 'assistant' } : { type }));
    return known.done ? null : known;
  };
  const partAt = (item: Growing, list: List, event: Fields, type: string): Fields => {
    const at = indexIn(list, event);
    const known = item.lists[list].get(at) ?? { type };
    item.lists[list].set(at, known);
    return known;
  };
  const addText = ({ item, list, part, field }: DeltaTarget, event: Fields, isWhole: boolean) => {
    const at = itemAt(event, item);
    if (!at) return;
    const target = list && part ? partAt(at, list, event, part) : at.raw;
    if (!isWhole) target[field] = text(target[field]) + text(event.delta);
    else if (typeof event[field] === 'string') target[field] = event[field];
  };
  const addPart = (list: List, event: Fields, isWhole: boolean) => {
    const part = fields(event.part);
    if (typeof part.type !== 'string') return;
    const at = itemAt(event, list === 'summary' || part.type === 'reasoning_text' ? 'reasoning' : 'message');
    const index = indexIn(list, event);
    if (at && (isWhole || !at.lists[list].has(index))) at.lists[list].set(index, { ...part });
  };
  const addItem = (event: Fields, item: Fields, isWhole: boolean) => {
    const index = indexOf(event, item.id) ?? items.size;
    if (isWhole) put(index, { ...growing(item), done: true });
    else if (!items.has(index)) put(index, growing(withoutSeal(item)));
  };

  return {
    add(type: string, event: Fields): void {
      const isWhole = type.endsWith('.done');
      const name = type.replace(/\.(?:added|delta|done)$/, '');
      if (name === type) return; // reports progress only
      const target = Object.hasOwn(deltaTargets, name) ? deltaTargets[name] : undefined;
      if (target) addText(target, event, isWhole);
      else if (name === 'response.content_part') addPart('content', event, isWhole);
      else if (name === 'response.reasoning_summary_part') addPart('summary', event, isWhole);
      else if (name === 'response.output_item' && isFields(event.item)) addItem(event, event.item, isWhole);
    },
    /** The items as a response would hold them, in the order of the output. */
    whole: (): Fields[] => [...items].sort(([a], [b]) => a - b).map(([, item]) => wholeItem(item)),
  };
}

const indexIn = (list: List, event: Fields): number => {
  const index = event[`${list}_index`];
  return typeof index === 'number' ? index : 0;
};

const growing = (raw: Fields): Growing => ({
  raw: { ...raw },
  done: false,
  lists: { content: byIndex(raw.content), summary: byIndex(raw.summary) },
});

const byIndex = (list: unknown): Map<number, Fields> =>
  new Map((Array.isArray(list) ? list : []).map((part, index) => [index, { ...fields(part) }]));

/** The encrypted content at an item's start is not final, and is left out. */
const withoutSeal = ({ encrypted_content: _unfinished, ...item }: Fields): Fields => item;

function wholeItem({ raw, done, lists }: Growing): Fields {
  if (done) return raw;
  const inOrder = (list: Map<number, Fields>) => [...list].sort(([a], [b]) => a - b).map(([, part]) => part);
  return {
    ...raw,
    ...(lists.content.size > 0 && { content: inOrder(lists.content) }),
    ...(lists.summary.size > 0 && { summary: inOrder(lists.summary) }),
  };
}
