/**
 * The items of OpenAI's Responses format as content blocks, the same in a request as in an answer: ids and statuses, in which the two
 * differ, stay out of the blocks, since clients change or drop them when they send an item back.
 */
import { nodeHash } from '../merkle/node.ts';
import { canonicalMessage, withoutCacheControl } from '../merkle/projection.ts';
import type { Message, MessageRole } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { Unreadable } from './format.ts';
import { imageAt } from './image-url.ts';
import { type Fields, fields, isFields, text, toolInput } from './json.ts';

const roles: Record<string, MessageRole> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};

/** An item as a message of its author: the model, a tool of the client's, a person, or the system. @throws {Unreadable} */
export function itemMessage(item: Fields): Message {
  const type = typeOf(item);
  if (type === 'message') return messageItem(item);
  const call = toolCall(type, item);
  if (call !== null) return { role: 'assistant', content: call };
  if (type.endsWith('_output') || type === 'mcp_approval_response') return toolAnswer(type, item);
  switch (type) {
    case 'reasoning':
      return { role: 'assistant', content: thinking(item) };
    case 'additional_tools':
      // tools are a parameter of the call, here as in `tools`: they change between the calls of one thread, which would fork it
      return { role: roleOf(item.role) ?? 'system', content: [] };
    case 'compaction_summary': // another name for the same
      return { role: 'assistant', content: [wholeItem('compaction', { ...item, type: 'compaction' })] };
    case 'agent_message': // from another agent, who is no person
    case 'compaction_trigger':
    case 'configuration_update':
      return { role: 'system', content: [wholeItem(type, item)] };
    case 'item_reference':
      return { role: 'assistant', content: [{ type, content: { type, id: text(item.id) } }] };
    default:
      return { role: 'assistant', content: [wholeItem(type, item)] };
  }
}

/** More than the items of an answer, and longer than the ids that providers give them. */
const MOST_IDS = 256;
const ITEM_ID = /^[\x21-\x7e]{1,256}$/;

const idOf = (item: unknown): string => {
  const id = text(fields(item).id);
  return ITEM_ID.test(id) ? id : '';
};

/** The ids of an answer's items, to which later requests may refer. */
export const itemIds = (output: readonly unknown[]): string[] =>
  [...new Set(output.map(idOf))].filter((id) => id !== '').slice(0, MOST_IDS);

/** The id in an element that only refers to an item; '' for an item in full. */
export function referencedItem(item: unknown): string {
  const { type, role } = fields(item);
  return type === 'item_reference' || (text(type) === '' && role === undefined) ? idOf(item) : '';
}

/** The blocks of an item that is a call or the answer to one; null: it is neither. */
export function callBlocks(type: string, item: Fields): ContentBlock[] | null {
  return toolCall(type, item) ?? (type.endsWith('_output') ? toolAnswer(type, item).content : null);
}

function typeOf(item: Fields): string {
  if (typeof item.type === 'string' && item.type !== '') return item.type;
  if (item.role !== undefined) return 'message';
  if (text(item.id) !== '') return 'item_reference';
  throw new Unreadable('Cannot read an item: it has no type');
}

const roleOf = (role: unknown): MessageRole | undefined =>
  Object.hasOwn(roles, text(role)) ? roles[text(role)] : undefined;

function messageItem(item: Fields): Message {
  const role = roleOf(item.role);
  if (role === undefined) throw new Unreadable('Cannot read a message: its role is unknown');
  if (role !== 'tool') return { role, content: parts(item.content) };
  const id = text(item.tool_call_id) || text(item.call_id); // as in Chat Completions
  return { role, content: [{ type: 'tool_result', tool_result_id: id, ...outputOf(item.content) }] };
}

function parts(content: unknown): ContentBlock[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (Array.isArray(content)) return content.flatMap(part);
  throw new Unreadable('Cannot read a message: its content is neither text nor parts');
}

const texts = new Set(['input_text', 'output_text', 'text', 'summary_text']);

/** A part of a message; one that is not as documented is passed on whole rather than refused. Empty text is no part. */
function part(raw: unknown): ContentBlock[] {
  if (typeof raw === 'string') return parts(raw);
  if (!isFields(raw) || typeof raw.type !== 'string') {
    throw new Unreadable('Cannot read a message: a content part has no type');
  }
  if (texts.has(raw.type) && typeof raw.text === 'string') return parts(raw.text);
  if (raw.type === 'refusal' && typeof raw.refusal === 'string') return [{ type: 'refusal', text: raw.refusal }];
  if (raw.type === 'input_image' || raw.type === 'computer_screenshot') {
    const url = isFields(raw.image_url) ? raw.image_url.url : raw.image_url;
    if (typeof url === 'string' && url !== '') return [imageAt(url)];
  }
  return [wholePart(raw.type, raw)];
}

const wholePart = (type: string, { prompt_cache_breakpoint: _moves, ...raw }: Fields): ContentBlock => ({
  type,
  content: withoutCacheControl(raw),
});

function wholeItem(type: string, item: Fields): ContentBlock {
  const {
    id: _id,
    status: _status,
    created_by: _by,
    internal_chat_message_metadata_passthrough: _clients,
    ...rest
  } = item;
  return { type, content: withoutCacheControl(rest) };
}

/** No block for reasoning that is neither shown nor encrypted. */
function thinking(item: Fields): ContentBlock[] {
  const words = joined(item.summary) || joined(item.content);
  const signature = text(item.encrypted_content);
  if (words === '' && signature === '') return [];
  return [{ type: 'thinking', thinking: words, ...(signature !== '' && { thinking_signature: signature }) }];
}

const joined = (pieces: unknown): string =>
  Array.isArray(pieces)
    ? pieces
        .map((piece) => text(fields(piece).text))
        .filter((line) => line !== '')
        .join('\n')
    : '';

/** The tool of a call and its input. */
type RequestedCall = { name: string; input: unknown };

const calls: Record<string, (item: Fields) => RequestedCall> = {
  function_call: (item) => ({ name: text(item.name), input: argumentsIn(item.arguments) }),
  custom_tool_call: (item) => ({ name: text(item.name), input: item.input ?? '' }),
  local_shell_call: (item) => ({ name: 'local_shell', input: item.action ?? {} }),
  shell_call: (item) => ({ name: 'shell', input: item.action ?? {} }),
  apply_patch_call: (item) => ({ name: 'apply_patch', input: item.operation ?? {} }),
  computer_call: (item) => ({ name: 'computer', input: item.action ?? { actions: item.actions ?? [] } }),
  tool_search_call: (item) => ({ name: 'tool_search', input: argumentsIn(item.arguments) }),
  mcp_approval_request: (item) => ({
    name: 'mcp_approval_request',
    input: { server_label: text(item.server_label), name: text(item.name), arguments: argumentsIn(item.arguments) },
  }),
  mcp_call: (item) => ({ name: text(item.name), input: argumentsIn(item.arguments) }),
  mcp_list_tools: (item) => ({ name: 'mcp_list_tools', input: { server_label: text(item.server_label) } }),
  web_search_call: (item) => {
    const { sources: _result, ...action } = fields(item.action);
    return { name: 'web_search', input: action };
  },
  file_search_call: (item) => ({ name: 'file_search', input: { queries: item.queries ?? [] } }),
  code_interpreter_call: (item) => ({ name: 'code_interpreter', input: { code: text(item.code) } }),
  image_generation_call: (item) => ({
    name: 'image_generation',
    input: text(item.revised_prompt) === '' ? {} : { revised_prompt: item.revised_prompt },
  }),
  program: (item) => ({ name: 'program', input: { code: text(item.code) } }),
  multi_agent_call: (item) => ({ name: text(item.action), input: argumentsIn(item.arguments) }),
};

const argumentsIn = (raw: unknown): unknown => (typeof raw === 'string' ? toolInput(raw) : (raw ?? {}));

/** The result in the item of a call that the provider ran itself; null where it holds none. */
const results: Record<string, (item: Fields) => Partial<ContentBlock> | null> = {
  web_search_call: (item) => listed(fields(item.action).sources),
  file_search_call: (item) => listed(item.results),
  code_interpreter_call: (item) => listed(item.outputs),
  image_generation_call: (item) => (text(item.result) === '' ? null : { image_base64: text(item.result) }),
  mcp_call: (item) => failed(item.error) ?? (typeof item.output === 'string' ? { tool_output: item.output } : null),
  mcp_list_tools: (item) => failed(item.error) ?? listed(item.tools),
};

const listed = (value: unknown) => (Array.isArray(value) ? { content: withoutCacheControl(value) } : null);

function failed(error: unknown): Partial<ContentBlock> | null {
  if (error === null || error === undefined || error === '') return null;
  return { is_error: true, ...(typeof error === 'string' ? { tool_output: error } : { content: error }) };
}

const atProvider = new Set(['program', 'multi_agent_call', ...Object.keys(results)]);
const underWay = new Set(['in_progress', 'searching', 'interpreting', 'generating', 'calling', 'queued', 'incomplete']);

/** The blocks of a call, with its result where the provider ran it and the same item holds the result; null when it is no call. */
function toolCall(type: string, item: Fields): ContentBlock[] | null {
  const known = Object.hasOwn(calls, type) ? calls[type] : undefined;
  if (known === undefined && !type.endsWith('_call')) return null;
  const { name, input } = (known ?? unknownCall(type))(item);
  const called = { tool_name: name, tool_input: input };
  if (!isAtProvider(type, item)) {
    const id = type === 'mcp_approval_request' ? text(item.id) : text(item.call_id);
    return [{ type: 'tool_use', tool_use_id: id, ...called }];
  }
  const id = text(item.call_id) || contentId(type, called);
  return [{ type: 'server_tool_use', tool_use_id: id, ...called }, ...ownResult(type, item, id)];
}

/** A call of a kind that is not known here: all that the item holds is its input. */
const unknownCall =
  (type: string) =>
  ({ type: _type, id: _id, status: _status, call_id: _callId, ...input }: Fields): RequestedCall => ({
    name: text(input.name) || type.slice(0, -'_call'.length),
    input,
  });

/** Whether the provider ran a call. Some kinds may be either's; an unknown one is the client's when it has an id for its result. */
function isAtProvider(type: string, item: Fields): boolean {
  if (type === 'tool_search_call') return item.execution !== 'client';
  if (type === 'shell_call') return fields(item.environment).type === 'container_reference';
  return atProvider.has(type) || (!Object.hasOwn(calls, type) && text(item.call_id) === '');
}

/**
 * An id for a call that has none but its item's: derived from its content, so that it is the same when the item comes back without
 * the item's id, as some clients send it.
 */
const contentId = (type: string, called: Pick<ContentBlock, 'tool_name' | 'tool_input'>): string =>
  `${type}_${nodeHash(null, canonicalMessage({ role: 'assistant', content: [{ type, ...called }] }, [])).slice(0, 16)}`;

/** The result of a call. One that has ended has a result, if only an empty one: a span ends only with a result. */
function ownResult(type: string, item: Fields, id: string): ContentBlock[] {
  const held = Object.hasOwn(results, type) ? results[type]?.(item) : undefined;
  if (held === undefined || (held === null && underWay.has(text(item.status)))) return [];
  const result = item.status === 'failed' ? { is_error: true, ...held } : held;
  return [{ type: `${type.replace(/_call$/, '')}_tool_result`, tool_result_id: id, ...result }];
}

/** An item with the result of a call: the client's, or the provider's own where call and result are two items. */
function toolAnswer(type: string, item: Fields): Message {
  const id = text(item.call_id) || (type === 'local_shell_call_output' ? text(item.id) : ''); // its id is the call's
  const tool_result = (rest: Partial<ContentBlock>): Message => ({
    role: 'tool',
    content: [{ type: 'tool_result', tool_result_id: id, ...rest }],
  });
  const ofProvider = (name: string, rest: Partial<ContentBlock>): Message => ({
    role: 'assistant',
    content: [{ type: `${name}_tool_result`, tool_result_id: id, ...rest }],
  });
  switch (type) {
    case 'mcp_approval_response': {
      const { approve, reason } = item;
      const approval = { ...(approve !== undefined && { approve }), ...(text(reason) !== '' && { reason }) };
      return {
        role: 'tool',
        content: [{ type: 'tool_result', tool_result_id: text(item.approval_request_id), content: approval }],
      };
    }
    case 'tool_search_output': {
      const found = listed(item.tools) ?? {};
      return item.execution === 'client' ? tool_result(found) : ofProvider('tool_search', found);
    }
    case 'program_output':
      return ofProvider('program', outputOf(item.result));
    case 'multi_agent_call_output':
      return ofProvider('multi_agent', outputOf(item.output));
    default:
      return tool_result({ ...outputOf(item.output), ...(item.status === 'failed' && { is_error: true }) });
  }
}

/** A result's texts, one to a line, and beside them what is no text. */
function outputOf(output: unknown): Partial<ContentBlock> {
  if (typeof output === 'string') return { tool_output: output };
  const pieces = Array.isArray(output) ? output : isFields(output) ? [output] : [];
  const lines: string[] = [];
  const rest: unknown[] = [];
  for (const piece of pieces) {
    const { stdout, stderr, created_by: _by, ...outcome } = fields(piece);
    if (typeof stdout === 'string' || typeof stderr === 'string') {
      lines.push(...[text(stdout), text(stderr)].filter((stream) => stream !== ''));
      rest.push(outcome);
    } else if (typeof piece === 'string' || typeof fields(piece).type === 'string') {
      const blocks = part(piece);
      lines.push(...blocks.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : [])));
      rest.push(...blocks.filter((block) => block.type !== 'text'));
    } else rest.push(piece);
  }
  return {
    ...(lines.length > 0 && { tool_output: lines.join('\n') }),
    ...(rest.length > 0 && { content: withoutCacheControl(rest) }),
  };
}
