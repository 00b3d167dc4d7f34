/** The transcript of a session: read from the core trace by trace, as steps that a model can be shown, without their secrets. */
import { setTimeout } from 'node:timers/promises';
import type { Env } from '../../core/cassette/contract.ts';
import { parseJson } from '../../core/parse-json.ts';
import { MASKED, masked } from './mask.ts';
import { SkillRefusal } from './refused.ts';

type Core = NonNullable<Env['CORE']>;

export type Utterance = { by: 'user' | 'assistant' | 'call' | 'result'; text: string };
/** One span of a session, as far as it contains text. */
export type TranscriptStep = { sessionId: string; traceId: string; spanId: string; utterances: Utterance[] };

/** The limit of one utterance, in characters. */
const MOST: Record<Utterance['by'], number> = { user: 4_000, assistant: 3_000, call: 1_500, result: 1_500 };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Checks that the session exists. @throws {SkillRefusal} session-unknown, generation-failed */
export async function findSession(core: Core, id: string, signal: AbortSignal): Promise<void> {
  const unknown = () =>
    new SkillRefusal('session-unknown', 'Cannot generate the skill: there is no session with one of these ids');
  if (!UUID.test(id)) throw unknown();
  if ((await fetchCore(core, `/v1/sessions/${id}`, signal)) === null) throw unknown();
}

/** `sources`: all sessions that are read. A step that one of them inherits from another is read only in that other one. */
export type StepOptions = { characters: number; sources: ReadonlySet<string>; signal: AbortSignal };

/**
 * The steps of a session in their order, up to that many characters together. When there are more, its beginning and its end are taken,
 * since the one has the request and the other the result.
 */
export async function stepsOf(
  core: Core,
  id: string,
  { characters, sources, signal }: StepOptions,
): Promise<TranscriptStep[]> {
  const traces = await tracesOf(core, id, signal);
  const front: TranscriptStep[] = [];
  let read = 0;
  for (let size = 0; read < traces.length && size < characters; read++) {
    const steps = await traceSteps(core, traces[read] as string, sources, signal);
    for (const step of steps) front.push(step); // no spread: there may be more steps than a call can have arguments
    size += sizeOf(steps);
  }
  const back: TranscriptStep[][] = [];
  for (let at = traces.length - 1, size = 0; at >= read && size < characters * TAIL; at--) {
    const steps = await traceSteps(core, traces[at] as string, sources, signal);
    back.push(steps);
    size += sizeOf(steps);
  }
  return fitting([...front, ...back.reverse().flat()], characters);
}

const TAIL = 0.4; // of the characters

/** Steps from both ends that fit, the first one in any case: where it is too long by itself, as much of it as there is room for. */
export function fitting(steps: readonly TranscriptStep[], characters: number): TranscriptStep[] {
  if (sizeOf(steps) <= characters) return [...steps];
  const [first, ...others] = steps;
  if (!first) return [];
  if (others.length === 0) return [shortened(first, characters)];
  const headRoom = Math.floor(characters * (1 - TAIL));
  const fittingHead = fittingCount(steps, headRoom);
  const head = fittingHead === 0 ? [shortened(first, headRoom)] : steps.slice(0, fittingHead);
  const rest = steps.slice(head.length);
  const tailCount = fittingCount([...rest].reverse(), characters * TAIL);
  return [...head, ...rest.slice(rest.length - tailCount)];
}

/** A step in at most so many characters; in less than a fence needs it is a few words all the same, so that the model has one to go by. */
function shortened({ utterances, ...step }: TranscriptStep, characters: number): TranscriptStep {
  const fences = utterances.length * FENCE;
  const shown = characters - fences >= utterances.length * FEWEST ? utterances : utterances.slice(0, 1);
  let left = Math.max(characters - shown.length * FENCE, Math.min(characters, FEWEST));
  const fitted = shown.map(({ by, text }, i) => {
    const short = clippedWithin(text, Math.floor(left / (shown.length - i)));
    left -= short.length;
    return { by, text: short };
  });
  return { ...step, utterances: fitted };
}

const FEWEST = 80; // characters of an utterance that are worth a fence

/** How many steps fit, counted from the first. */
function fittingCount(steps: readonly TranscriptStep[], characters: number): number {
  let size = 0;
  const end = steps.findIndex((step) => {
    size += sizeOf([step]);
    return size > characters;
  });
  return end === -1 ? steps.length : end;
}

const FENCE = 160; // characters around each utterance in the prompt (prompt.ts)

const sizeOf = (steps: readonly TranscriptStep[]): number =>
  steps.reduce(
    (sum, { utterances }) => sum + utterances.reduce((length, { text }) => length + text.length + FENCE, 0),
    0,
  );

type Page = { items: { trace_id: string; synthetic?: string }[]; next_cursor?: string };

const MOST_PAGES = 20;

/** Ids of the traces that began with a prompt, the oldest first. */
async function tracesOf(core: Core, id: string, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = new URLSearchParams({ session_id: id, limit: '200', ...(cursor === undefined ? {} : { cursor }) });
    const read = (await fetchCore(core, `/v1/traces?${query}`, signal)) as Page | null;
    if (!read) return []; // it was deleted in the meantime
    ids.push(...read.items.filter(({ synthetic }) => synthetic === undefined).map(({ trace_id }) => trace_id));
    cursor = read.next_cursor;
    if (cursor === undefined) break;
  }
  return ids.reverse();
}

type Block = {
  type: string;
  text?: string;
  tool_name?: string;
  tool_input?: unknown;
  tool_output?: string;
  content?: unknown;
};
type Span = {
  session_id: string;
  trace_id: string;
  span_id: string;
  kind: string;
  call_kind: string;
  name: string;
  input: Block[];
  output: Block[];
  inherited_from_session_id?: string;
};

async function traceSteps(
  core: Core,
  id: string,
  sources: StepOptions['sources'],
  signal: AbortSignal,
): Promise<TranscriptStep[]> {
  const read = (await fetchCore(core, `/v1/traces/${id}`, signal)) as { spans: Span[] } | null;
  const spans = (read?.spans ?? []).filter(
    ({ inherited_from_session_id: from }) => from === undefined || !sources.has(from),
  );
  return spans.map(stepOf).filter(({ utterances }) => utterances.length > 0);
}

/** Exported for tests of the texts of a span. */
export function stepOf({ session_id, trace_id, span_id, ...span }: Span): TranscriptStep {
  const utterances = utterancesIn(span)
    .map(({ by, text }) => ({ by, text: clipped(masked(text).trim(), MOST[by]) })) // masked before it is clipped: half a key has no shape
    .filter(({ text }) => text !== '');
  return { sessionId: session_id, traceId: trace_id, spanId: span_id, utterances };
}

function utterancesIn({
  kind,
  call_kind,
  name,
  input,
  output,
}: Omit<Span, 'session_id' | 'trace_id' | 'span_id'>): Utterance[] {
  const texts = (blocks: readonly Block[]) =>
    blocks.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
  if (kind === 'llm' && call_kind === 'main')
    return [
      { by: 'user', text: texts(input) },
      { by: 'assistant', text: texts(output) },
    ];
  if (kind !== 'tool') return [];
  const call = input.map(({ tool_input }) => plain(tool_input)).join('\n');
  const result = output.map(({ tool_output, text, content }) => tool_output ?? text ?? plain(content)).join('\n');
  return [
    { by: 'call', text: `${name}\n${call}` },
    { by: 'result', text: result },
  ];
}

/** Values after their names without the quotes and escapes of JSON, which would hide the shape of a secret. */
function plain(value: unknown, depth = 0): string {
  if (value === undefined || value === null) return '';
  if (depth > DEEPEST) return '…';
  if (Array.isArray(value)) return value.map((member) => plain(member, depth + 1)).join('\n');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([key, member]) => `${key}: ${plain(member, depth + 1)}`)
      .join('\n');
  return String(value);
}

/** Deeper values are of no use to a reader, and each level copies the text once more. */
const DEEPEST = 50;

/** The beginning of a text and a little of its end, with a line between them that says how much is left out. */
function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor(most / 4);
  const left = text.length - most;
  return `${beginningOf(text, most - end)}\n[… ${left} characters left out …]\n${endOf(text, end)}`;
}

const OMISSION = 48; // characters of the line between, at most

/** The same in at most so many characters, that line included. */
function clippedWithin(text: string, most: number): string {
  if (text.length <= most) return text;
  return most < 2 * OMISSION ? beginningOf(text, most) : clipped(text, most - OMISSION);
}

const beginningOf = (text: string, length: number): string => text.slice(0, cutAround(text, length).start);
const endOf = (text: string, length: number): string => text.slice(cutAround(text, text.length - length).end);

/** Where a text may be cut at `at`, before or after what stands there: neither within a mask nor within a character. */
function cutAround(text: string, at: number): { start: number; end: number } {
  const start = text.lastIndexOf(MASKED, at - 1);
  if (at > 0 && start !== -1 && at < start + MASKED.length) return { start, end: start + MASKED.length };
  const isWithin = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1));
  return isWithin ? { start: at - 1, end: at + 1 } : { start: at, end: at };
}

const MOST_BYTES = 32 * 1024 * 1024;
const ATTEMPTS = 4;

/** GET of the read API, as JSON; null: not found. @throws {SkillRefusal} generation-failed */
async function fetchCore(core: Core, path: string, signal: AbortSignal): Promise<unknown> {
  const failed = (why: string, cause?: unknown) =>
    new SkillRefusal('generation-failed', `Cannot generate the skill: the read API ${why}`, { cause });
  for (let attempt = 1; ; attempt++) {
    const answer = await core.fetch(path, { signal }).catch((error: unknown) => {
      throw failed('could not be asked', error);
    });
    if (answer.ok) return readJson(answer).catch((error: unknown) => Promise.reject(failed('broke off', error)));
    await answer.body?.cancel();
    if (answer.status === 404) return null;
    if (answer.status !== 503 || attempt === ATTEMPTS) throw failed(`answered ${answer.status}`);
    await setTimeout(500 * attempt, undefined, { signal }).catch(() => {}); // too many requests read payloads at once
  }
}

async function readJson({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) return { spans: [] }; // a trace that no model could read either
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}
