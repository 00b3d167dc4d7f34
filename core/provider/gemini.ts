/** Google's Gemini: the provider, and the wire format `POST …/models/<model>:generateContent`, streamed and in one piece, as Vertex has it too. */
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import { ordinaryTerms, type Terms } from '../model/terms.ts';
import type { Usage } from '../model/usage.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { callOf, callsInParts } from './gemini-calls.ts';
import { list, named } from './gemini-names.ts';
import { geminiPrompt } from './gemini-prompt.ts';
import { assertShallow, type Fields, fields, isFields, limit, parsed, text, tokens, wholeElements } from './json.ts';
import { openaiChat } from './openai-chat.ts';
import { defineProvider } from './provider.ts';
import { bodyShape, bodyText, type StreamEvent, streamEvents } from './sse.ts';

const toolsIn = (element: unknown): number => list(named(fields(element), 'functionDeclarations')).length || 1;

const CALL =
  /\/(?:models|tunedModels|endpoints)\/([^/:%?]+)(?::|%3A)(generateContent|streamGenerateContent)\/*(?:\?|$)/i;

const format: WireFormat<'gemini.generate'> = {
  id: 'gemini.generate',
  provider: 'gemini',
  usualPath: '/v1beta/models:generateContent', // the model is in the path, and so as unknown as that
  overWebSocket: false,
  matches: (method, path) => method.toUpperCase() === 'POST' && CALL.test(path),
  echoesThinking: false,
  echoesToolIds: false, // often there are none, and clients make up their own
  prompt: geminiPrompt,
  messagesKey: 'contents',
  systemKey: null,
  toolsKey: 'tools',
  toolsIn,
  joinsAnswer: true, // Google's own client sends each chunk of a stream back as a content
  splitsTexts: true,
  isNoOp: () => false,
  requestHead(skeleton, counts) {
    const { contents, tools } = skeleton;
    if (!Array.isArray(contents) && !isFields(contents))
      throw new Unreadable('Cannot read a Gemini request: it has no contents');
    return {
      model: text(skeleton.model).replace(/^models\//, ''),
      stream: false,
      max_tokens: limit(named(fields(named(skeleton, 'generationConfig')), 'maxOutputTokens')),
      tool_count: isFields(tools) ? toolsIn(tools) : counts.tools,
      conversation_id: '',
      previous_response_id: '',
    };
  },
  headInPath(path) {
    const [, model, method = ''] = CALL.exec(path) ?? [];
    return model === undefined ? {} : { model, stream: /^stream/i.test(method) };
  },
  systemPrompts(skeleton) {
    const prompt = named(skeleton, 'systemInstruction');
    const parts = isFields(prompt) ? prompt.parts : prompt;
    return [isFields(parts) ? [parts] : parts];
  },
  messagesOutside: ({ contents }) => (isFields(contents) ? [message(contents)] : []),
  message,
  reply,
  stopReasons: {
    ended: ['STOP'],
    cut: [
      ...['MAX_TOKENS', 'SAFETY', 'RECITATION', 'LANGUAGE', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'],
      ...['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MISSING_THOUGHT_SIGNATURE'],
      ...['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'IMAGE_OTHER', 'NO_IMAGE', 'MODEL_ARMOR'],
    ],
    tools: [],
  },
  callKey: () => null, // Vertex and the servers that imitate it leave ids out or repeat them
  terms,
};

export const gemini = defineProvider({
  id: 'gemini',
  formats: [format],
  alsoServes: [openaiChat],
  formatOf: () => format,
  basePath: '',
  clients: (base) => [['Gemini SDK', `GOOGLE_GEMINI_BASE_URL=${base}`]],
  libraries: [
    ['google-genai-js', /^google-genai-sdk\/([\w.+-]+) gl-node\//],
    ['google-genai-python', /^google-genai-sdk\/([\w.+-]+) gl-python\//],
  ],
  paths:
    /^\/v1(?:alpha|beta)\/|^\/v1(?:\/[^:]+)?:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/,
  noTurn: [
    ':(countTokens|computeTokens|embedContent|batchEmbedContents|asyncBatchEmbedContent|batchGenerateContent)',
    ':(predict|predictLongRunning|fetchPredictOperation)', // embeddings, pictures and films
    '/publishers/google/models/[^/]*:rawPredict',
    '/(cachedContents|tunedModels|fileSearchStores|corpora|operations)(/.*)?',
  ],
  key: /^(?:AIza|AQ\.)/,
  keyHeader: 'x-goog-api-key',
  ownHeader: 'x-goog-api-key',
  errorBody: (status, message) =>
    JSON.stringify({ error: { code: status, message, status: ERRORS[status] ?? 'UNAVAILABLE' } }),
  pricing: { list: 'google', listed: (model) => model.replace(/^models\//, ''), cacheWrites: null },
  caching: () => null,
});

const ERRORS: Record<number, string> = { 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 421: 'INVALID_ARGUMENT' };

const roles: Record<string, Message['role']> = { '': 'user', user: 'user', model: 'assistant', function: 'tool' };

function message(element: unknown): Message {
  if (!isFields(element)) throw new Unreadable('Cannot read a Gemini content: it is no object');
  const word = text(element.role).toLowerCase(); // samples for Vertex have `USER`
  const role = Object.hasOwn(roles, word) ? roles[word] : undefined;
  if (role === undefined) throw new Unreadable('Cannot read a Gemini content: its role is unknown');
  assertShallow(element, 'a Gemini content');
  return { role, content: blocksIn(partsOf(element), callsInParts()) };
}

function partsOf({ parts }: Fields): unknown[] {
  if (parts !== undefined && parts !== null && !Array.isArray(parts) && !isFields(parts)) {
    throw new Unreadable('Cannot read a Gemini content: its parts are no list');
  }
  return list(parts);
}

const blocksIn = (parts: readonly unknown[], calls: ReturnType<typeof callsInParts>): ContentBlock[] =>
  parts.flatMap((part) => calls.blocksOf(fields(part)) ?? blocks(part));

/** The block of a part; none for an empty text, such as the last one of a stream. One that is not known is passed on whole. */
function blocks(raw: unknown): ContentBlock[] {
  if (!isFields(raw)) throw new Unreadable('Cannot read a Gemini content: a part is no object');
  const signature = text(named(raw, 'thoughtSignature'));
  const block = blockOf(raw);
  return block ? [{ ...block, ...(signature !== '' && { thinking_signature: signature }) }] : [];
}

function blockOf(raw: Fields): ContentBlock | null {
  if (typeof raw.text === 'string') {
    if (raw.text === '') return null;
    return raw.thought === true ? { type: 'thinking', thinking: raw.text } : { type: 'text', text: raw.text };
  }
  const [call, result] = [named(raw, 'functionCall'), named(raw, 'functionResponse')];
  if (isFields(call)) return { type: 'tool_use', ...callOf(call) };
  if (isFields(result)) return toolResult(result);
  const [inline, file] = [named(raw, 'inlineData'), named(raw, 'fileData')];
  if (isFields(inline)) return media('inlineData', inline, { image_base64: text(inline.data) });
  if (isFields(file)) return media('fileData', file, { image_url: text(named(file, 'fileUri')) });
  const [code, output] = [named(raw, 'executableCode'), named(raw, 'codeExecutionResult')];
  if (isFields(code)) {
    const { id: _, ...input } = code;
    return { type: 'server_tool_use', tool_use_id: codeId(code), tool_name: 'code_execution', tool_input: input };
  }
  if (isFields(output)) {
    return {
      type: 'code_execution_tool_result',
      tool_result_id: codeId(output),
      tool_output: text(output.output),
      is_error: output.outcome !== 'OUTCOME_OK',
    };
  }
  const [type] = Object.keys(raw).filter((key) => key !== 'thoughtSignature' && key !== 'thought_signature');
  return type === undefined ? null : { type, content: raw[type] };
}

const codeId = ({ id }: Fields): string => text(id) || 'code_execution';

/** `output` and `error` are the names that Google gives to a function's result and failure; without them, the whole is the result. */
function toolResult(result: Fields): ContentBlock {
  const response = fields(result.response);
  const output = response.output ?? response.error ?? result.response ?? '';
  const files = list(result.parts);
  return {
    type: 'tool_result',
    tool_result_id: text(result.id) || text(result.name),
    ...(text(result.name) !== '' && { tool_name: text(result.name) }),
    tool_output: typeof output === 'string' ? output : JSON.stringify(output),
    ...(response.error !== undefined && response.output === undefined && { is_error: true }),
    ...(files.length > 0 && { content: files }),
  };
}

function media(type: string, raw: Fields, image: Pick<ContentBlock, 'image_base64' | 'image_url'>): ContentBlock {
  const media_type = text(named(raw, 'mimeType'));
  return media_type.startsWith('image/') ? { type: 'image', media_type, ...image } : { type, content: raw };
}

function reply(body: Uint8Array, contentType: string): Reply {
  const answer = bodyText(body);
  switch (bodyShape(answer, contentType)) {
    case 'stream':
      return streamed(streamEvents(answer).flatMap(chunksOf));
    case 'document':
      return answer.trimStart().startsWith('[') ? streamed(elements(answer)) : oneShot(parsed(answer));
    default:
      throw new Unreadable('Cannot read a Gemini answer: it is neither a stream nor a document');
  }
}

/** undefined: an event that is no JSON. */
const chunksOf = (event: StreamEvent): unknown[] =>
  event === 'done' ? [] : [event === 'unreadable' ? undefined : event.json];

function oneShot(document: unknown): Reply {
  if (!isFields(document)) throw new Unreadable('Cannot read a Gemini answer: it is no JSON object');
  const error = errorIn(document);
  const isAnswer =
    error ?? document.candidates ?? named(document, 'promptFeedback') ?? named(document, 'usageMetadata');
  if (!isAnswer) throw new Unreadable('Cannot read a Gemini answer: it has no candidates');
  return { ...streamed([document]), complete: true, error };
}

/** The elements of an array, as far as they came: the second form of a stream. undefined: one that is no JSON. */
function elements(json: string): unknown[] {
  const whole = parsed(json);
  return Array.isArray(whole) ? whole : wholeElements(json).map(parsed);
}

/** The chunks of a stream, each a document of the same form. Texts grow, as may the arguments of calls; other parts come whole. */
function streamed(chunks: readonly unknown[]): Reply {
  const content: ContentBlock[] = [];
  const calls = callsInParts();
  let usage = null as Map<string, unknown> | null; // the figures of all chunks, the latest of each
  let model = '';
  let responseId = '';
  let stopReason = '';
  let grounded = '';
  let error: Reply['error'] = null;
  for (const raw of chunks) {
    const chunk = fields(raw);
    if (raw === undefined)
      error ??= { type: 'unreadable_event', message: 'Cannot read an event of the stream: it is no JSON' };
    error = errorIn(chunk) ?? error;
    model = text(named(chunk, 'modelVersion')) || model;
    responseId = text(named(chunk, 'responseId')) || responseId;
    const reported = named(chunk, 'usageMetadata');
    if (isFields(reported)) usage ??= new Map();
    for (const [name, figure] of Object.entries(fields(reported))) usage?.set(name, figure);
    const candidate =
      list(chunk.candidates)
        .map(fields)
        .find(({ index }) => (index ?? 0) === 0) ?? {};
    assertShallow(candidate.content, 'a Gemini answer');
    for (const block of blocksIn(partsOf(fields(candidate.content)), calls)) grow(content, block);
    const blocked = text(named(fields(named(chunk, 'promptFeedback')), 'blockReason'));
    stopReason = text(named(candidate, 'finishReason')) || blocked || stopReason;
    grounded ||= groundedBy(fields(named(candidate, 'groundingMetadata')));
  }
  const figures = usage && Object.fromEntries(usage);
  return {
    content: content.map(withoutSeams),
    model,
    response_id: responseId,
    stop_reason: stopReason,
    usage: figures && usageOf(figures),
    usage_verbatim: figures,
    ...(grounded !== '' && { service_tier: grounded }), // its fee is none of the usage's figures
    complete: stopReason !== '' && error === null,
    error,
  };
}

/** What grounded an answer and has a fee of its own; '' for nothing. Maps has one where a place of it is among the sources. */
function groundedBy(grounding: Fields): string {
  const searches = ['webSearchQueries', 'imageSearchQueries'].map((name) => named(grounding, name));
  if (searches.some((queries) => list(queries).length > 0)) return 'grounded_by_search';
  const places = list(named(grounding, 'groundingChunks')).some((source) => isFields(fields(source).maps));
  return places || text(named(grounding, 'googleMapsWidgetContextToken')) !== '' ? 'grounded_by_maps' : '';
}

/** A text under way, whose pieces are joined once, at its end. */
const pieces = new WeakMap<ContentBlock, string[]>();

function grow(content: ContentBlock[], block: ContentBlock): void {
  const last = content.at(-1);
  const piece = block.text ?? block.thinking;
  const known = last && last.type === block.type ? pieces.get(last) : undefined;
  if (known && last && piece !== undefined) {
    known.push(piece);
    if (block.thinking_signature !== undefined) last.thinking_signature = block.thinking_signature;
    return;
  }
  if (piece !== undefined) pieces.set(block, [piece]);
  content.push(block);
}

function withoutSeams(block: ContentBlock): ContentBlock {
  const whole = pieces.get(block)?.join('');
  if (whole === undefined) return block;
  return block.type === 'thinking' ? { ...block, thinking: whole } : { ...block, text: whole };
}

/** `{error: {code, message, status}}`; null when it is none. */
function errorIn({ error }: Fields): Reply['error'] {
  if (!isFields(error)) return null;
  const code = typeof error.code === 'number' ? String(error.code) : '';
  return { type: text(error.status) || code || 'error', message: text(error.message) };
}

/** Google counts cached input within the prompt, and thoughts and the prompts of its own tools apart. Null when nothing is reported. */
function usageOf(usage: Fields): Usage | null {
  const count = (name: string) => tokens(named(usage, name));
  const [prompt, candidates] = [count('promptTokenCount'), count('candidatesTokenCount')];
  const [thoughts, ownTools] = [count('thoughtsTokenCount') ?? 0, count('toolUsePromptTokenCount') ?? 0];
  if (prompt === null && candidates === null && thoughts + ownTools === 0) return null;
  return {
    input_tokens: (prompt ?? 0) + ownTools,
    output_tokens: (candidates ?? 0) + thoughts,
    cache_read_tokens: Math.min(count('cachedContentTokenCount') ?? 0, prompt ?? 0),
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    reasoning_tokens: thoughts,
  };
}

/** Sound, and pictures that a model made, have prices of their own, as have the tiers of Vertex. */
function terms({ usage_verbatim, service_tier = '', content }: Reply): Terms {
  const usage = fields(usage_verbatim);
  const ofModality = (name: string, modalities: readonly string[]) =>
    list(named(usage, name))
      .map(fields)
      .filter(({ modality }) => modalities.includes(text(modality)))
      .reduce((sum, detail) => sum + (tokens(named(detail, 'tokenCount')) ?? 0), 0);
  const audioInput = ofModality('promptTokensDetails', ['AUDIO']) + ofModality('toolUsePromptTokensDetails', ['AUDIO']);
  const mediaOutput = ofModality('candidatesTokensDetails', ['AUDIO', 'IMAGE', 'VIDEO']);
  const tier = (text(named(usage, 'serviceTier')) || text(named(usage, 'trafficType'))).toLowerCase();
  return {
    ...ordinaryTerms,
    service_tier: service_tier || (ON_DEMAND.has(tier) ? '' : tier),
    audio_tokens: audioInput + mediaOutput || (content.some(({ type }) => type === 'image') ? 1 : 0),
  };
}

const ON_DEMAND = new Set(['', 'on_demand', 'traffic_type_unspecified', 'unspecified', 'standard']);
