/** The known harnesses, and look-ups across them. A new harness is a file of its own and one line here. */
import { trimmed } from '../merkle/projection.ts';
import type { Message } from '../model/bucket.ts';
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { HeaderList } from '../model/headers.ts';
import { normalAction } from './action.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { geminiCli } from './gemini-cli.ts';
import type {
  CallTraits,
  Harness,
  HarnessSigns,
  PermissionVerdict,
  SpawnRequest,
  Surroundings,
  Task,
} from './harness.ts';
import { isProbe } from './message-text.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { noSurroundings } from './surroundings.ts';

/** The first that recognises something decides. */
export const harnesses: readonly Harness[] = [claude, codex, geminiCli, opencode, pi];

/** null: none that we know. */
export const harnessById = (id: string): Harness | null => harnesses.find((harness) => harness.id === id) ?? null;

/**
 * The harnesses that apply to a session: its own. Where that is not named, or is one that we do not know, any of them may have
 * made the calls, and the first that recognises something decides.
 */
const harnessesFor = (harness_id: string): readonly Harness[] => {
  const known = harnessById(harness_id);
  return known ? [known] : harnesses;
};

/** null: no harness that we know. @param skeleton the parsed body with its cut arrays empty; null when it cannot be read */
export const harnessOf = (headers: HeaderList, skeleton: Record<string, unknown> | null): HarnessSigns | null =>
  firstOf(harnesses, (harness) => harness.signs(headers, skeleton));

/** The sub-agent that makes the call; '' is the main thread. */
export const threadOf = (headers: HeaderList): string =>
  firstOf(harnesses, (harness) => harness.threadOf(headers) || null) ?? '';

/**
 * The kind of injected context, such as `mcp-instructions`; '' for conversation. Only a message of the user or the system that
 * is text throughout counts, and only by how it begins: a prompt that mentions skills stays a prompt. All harnesses are tried,
 * whoever calls: the kind changes hashes, and the same text must be linked in the same way everywhere.
 */
export function injectedKind({ role, content }: Message): string {
  if ((role !== 'user' && role !== 'system') || content.some(({ type }) => type !== 'text')) return '';
  const text = trimmed(content.map((block) => block.text ?? '').join(''));
  return firstOf(harnesses, (harness) => harness.injectedKind(text) || null) ?? '';
}

const all = (list: (harness: Harness) => readonly string[]): readonly string[] => [...new Set(harnesses.flatMap(list))];

/** Of all harnesses, as all lists here: a person's words are the same whatever they passed through. */
export const WRAPPERS = all(({ wrappers }) => wrappers);

/** Matches each tag around a person's own words. */
export const UNWRAPPED_TAG = new RegExp(`</?(?:${all(({ unwrapped }) => unwrapped).join('|')})>`, 'g');

/** Tags that stay out of hashes, in the order in which they are removed. */
export const UNHASHED_TAGS = all(({ unhashedTags }) => unhashedTags);

/** Without what a harness writes at the beginning of a person's words. */
export const withoutPreamble = (text: string): string =>
  harnesses.reduce((rest, { preamble }) => (preamble ? rest.replace(preamble, '') : rest), text);

/** Request headers that name a session. */
export const SESSION_HEADERS = all(({ sessionHeaders }) => sessionHeaders);

/** Headers whose value differs on nearly every call. */
export const CHANGING_HEADERS = all(({ changingHeaders }) => changingHeaders);

/** Whether a harness sends to this path what requests no turn of a model. */
export const isNoTurnPath = (path: string): boolean =>
  NO_TURN_PATHS.some((own) => path.endsWith(own) || path.includes(`${own}/`));

const NO_TURN_PATHS = all(({ noTurnPaths }) => noTurnPaths);

/** A model's name, and what a harness has put at its end; '' for nothing. */
export function modelAndSuffix(name: string): [model: string, suffix: string] {
  const length = MODEL_SUFFIXES.find((own) => name.slice(-own.length).toLowerCase() === own)?.length ?? 0;
  return [name.slice(0, name.length - length), name.slice(name.length - length)];
}

const MODEL_SUFFIXES = all(({ modelSuffixes }) => modelSuffixes);

/** Whether a tool runs a command line. */
export const isShell = (tool_name: string): boolean => SHELLS.has(tool_name);

const SHELLS: ReadonlySet<string> = new Set(all(({ shells }) => shells));

/** Whether a call beside the conversation serves a tool, such as a summary of the page that it fetches. */
export const isServedBy = (kind: CallKind, tool_name: string): boolean =>
  harnesses.some(({ servedTools }) => servedTools[kind]?.includes(tool_name));

/** Whether a harness wrote what is left of a user's message without wrappers: then it is no prompt of a person. */
export const isHarnessSpeaking = (text: string): boolean => harnesses.some((harness) => harness.speaks(text));

/** What a call is for, and the action that a permission check judges, normalised as in `action.ts`; '' for any other call. */
export function callPurpose(call: CallTraits): { kind: CallKind; judged: string } {
  const candidates = harnessesFor(call.harness_id);
  const kind = firstOf(candidates, (harness) => harness.callKind(call)) ?? (isProbe(call) ? 'offshoot:probe' : 'main');
  if (!kind.startsWith('offshoot:permission-check:')) return { kind, judged: '' };
  return { kind, judged: normalAction(firstOf(candidates, (harness) => harness.judgedAction(call) || null) ?? '') };
}

/** The verdict of a permission check of this kind; null: its answer cannot be read. */
export function verdictIn(
  harness_id: string,
  kind: CallKind,
  output: readonly ContentBlock[],
): PermissionVerdict | null {
  const verdict = firstOf(harnessesFor(harness_id), (harness) => harness.verdict(output));
  return verdict && { ...verdict, stage: kind === 'offshoot:permission-check:stage2' ? 2 : 1 };
}

/** The thread that a tool call spawns; null: the tool spawns none. */
export const spawnIn = (harness_id: string, tool: { tool_name: string; tool_input: unknown }): SpawnRequest | null =>
  firstOf(harnessesFor(harness_id), (harness) => harness.spawn(tool));

/** The names of the new thread in a spawning tool's result: ids and paths. */
export const spawnedNames = (harness_id: string, result: ContentBlock): string[] => [
  ...new Set(harnessesFor(harness_id).flatMap((harness) => harness.spawned(result))),
];

/** What a call's `identity.harness_metadata` holds about its thread; '' where it holds nothing. */
export const threadIn = (
  harness_id: string,
  metadata: Record<string, unknown> | null,
): { path: string; label: string } =>
  firstOf(harnessesFor(harness_id), (harness) => {
    const thread = harness.thread(metadata);
    return thread.path || thread.label ? thread : null;
  }) ?? { path: '', label: '' };

/** Where a call's harness runs, as the call's content has it. */
export const surroundingsOf = (call: CallTraits): Surroundings =>
  firstOf(harnessesFor(call.harness_id), (harness) => harness.surroundings(call)) ?? noSurroundings;

/** The session's tasks after one of its task tools has run; null: the tool is none of them. */
export const tasksAfter = (
  harness_id: string,
  tasks: readonly Task[],
  tool: { tool_name: string; tool_input: unknown },
  result: ContentBlock,
): Task[] | null => firstOf(harnessesFor(harness_id), (harness) => harness.tasksAfter(tasks, tool, result));

/** The title in the answer of a title call; '' when there is none. */
export const titleIn = (harness_id: string, output: readonly ContentBlock[]): string =>
  firstOf(harnessesFor(harness_id), (harness) => harness.titleIn(output) || null) ?? '';

/** The summary in the answer of a compaction; the whole answer where none is marked. */
export const summaryIn = (answer: string): string =>
  firstOf(harnesses, (harness) => harness.summaryIn(answer)) ?? answer;

function firstOf<T>(candidates: readonly Harness[], read: (harness: Harness) => T | null): T | null {
  for (const harness of candidates) {
    const result = read(harness);
    if (result !== null) return result;
  }
  return null;
}
