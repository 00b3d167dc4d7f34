/** The prompts of cassettes: each is one GET operation of its cassette, whose text somebody sends to a model by the prompt's name. */
import {
  ErrorCode,
  type GetPromptResult,
  GetPromptResultSchema,
  McpError,
  type Prompt,
} from '@modelcontextprotocol/sdk/types.js';
import type { Installed } from '../../cassette/installed.ts';
import type { PromptDeclaration } from '../../cassette/openapi/offers.ts';
import { Refusal } from '../../errors.ts';
import { cassetteAnswer, isUnknown, jsonObject, LATE_MS, type SendRequest } from './cassette-answer.ts';
import { listPage, segmentOf, textOf } from './cassette-lists.ts';
import type { Caller } from './tool.ts';

type Offered = PromptDeclaration & { cassette: string };

export type McpPrompts = {
  /** `problems`: sentences about what could not be listed. */
  list(cursor: string | undefined, caller: Caller): Promise<{ prompts: Prompt[]; next?: string; problems: string[] }>;
  /** @throws {McpError} no such prompt, or other arguments @throws {Refusal} the cassette did not answer as it should */
  get(name: string, args: Readonly<Record<string, string>>, caller: Caller): Promise<GetPromptResult>;
};

/** Of an entry that a cassette lists: clients make commands of it. */
const NAME = /^[A-Za-z0-9_-]{1,100}$/;

/** The prompts of admitted cassettes; null: none declares any. @param lateMs the deadline for a complete response */
export function cassettePrompts(
  installed: readonly Installed[],
  send: SendRequest,
  lateMs = LATE_MS,
): McpPrompts | null {
  const offered: Offered[] = installed
    .filter(({ state }) => state === 'admitted' || state === 'stale')
    .flatMap(({ entry, document }) => (document?.prompts ?? []).map((prompt) => ({ ...prompt, cassette: entry.name })))
    .sort((one, other) => (one.full_name < other.full_name ? -1 : 1));
  if (offered.length === 0) return null;
  const named = offered.filter(({ list }) => list === null);
  return {
    async list(cursor, { signal }) {
      const { entries, next, problems } = await listPage(
        'list prompts',
        {
          lists: offered.flatMap((one) =>
            one.list === null
              ? []
              : [{ cassette: one.cassette, list: one.list, entryOf: (item) => promptOf(one, named, item) }],
          ),
          first: named.map((one) => ({
            ...{ name: one.full_name, title: one.title, description: one.description, arguments: argumentsOf(one) },
          })),
          cursor,
        },
        { send, signal, lateMs },
      );
      return { prompts: entries, ...(next === undefined ? {} : { next }), problems };
    },
    async get(name, args, { signal }) {
      const unknown = () =>
        new McpError(ErrorCode.InvalidParams, `Cannot get the prompt ${shown(name)}: there is none`);
      const found = pathOf(offered, name);
      if (!found) throw unknown();
      const { cassette, description, path } = found;
      const query = new URLSearchParams(checkedArguments(name, found, args)).toString();
      const request = {
        cassette,
        path: query === '' ? path : `${path}?${query}`,
        what: `get the prompt ${shown(name)}`,
      };
      try {
        const answer = await cassetteAnswer(request, { send, signal, lateMs });
        if (!/^application\/json\b/i.test(answer.contentType)) {
          const text = answer.bytes.toString('utf8');
          return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
        }
        const result = GetPromptResultSchema.safeParse(jsonObject(answer, request));
        if (result.success) return { description, ...result.data };
        throw new Refusal('cassette-broken', `Cannot ${request.what}: ${cassette} answered without valid messages`);
      } catch (error) {
        throw isUnknown(error) ? unknown() : error;
      }
    },
  };
}

const shown = (name: string) => JSON.stringify(name.slice(0, 120));

const argumentsOf = ({ arguments: declared }: PromptDeclaration) => declared.map((one) => ({ ...one }));

/** null: the item has no name that a prompt can have, or that of another prompt of the cassette. */
function promptOf(one: Offered, named: readonly Offered[], item: Record<string, unknown>): Prompt | null {
  if (typeof item.name !== 'string' || !NAME.test(item.name)) return null;
  const name = `${one.full_name}${item.name}`;
  if (named.some(({ full_name }) => full_name === name)) return null;
  const [title, description] = [textOf(item.title, 200), textOf(item.description, 1_024)];
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description: description ?? one.description,
    arguments: argumentsOf(one),
  };
}

/** The declaration of a name, and the path to read; null: none has that name. */
function pathOf(offered: readonly Offered[], name: string): Offered | null {
  const own = offered.find((one) => one.list === null && one.full_name === name);
  if (own) return own;
  const listed = offered.find((one) => one.list !== null && name.startsWith(one.full_name));
  const entry = listed && name.slice(listed.full_name.length);
  if (!listed || entry === undefined || !NAME.test(entry)) return null;
  return { ...listed, path: listed.path.replace(/\{[^{}]*\}/, () => segmentOf(entry) ?? '') };
}

/** @throws {McpError} an argument is missing, or does not exist */
function checkedArguments(
  name: string,
  { arguments: declared }: PromptDeclaration,
  args: Readonly<Record<string, string>>,
): Record<string, string> {
  const invalid = (problem: string) =>
    new McpError(ErrorCode.InvalidParams, `Cannot get the prompt ${shown(name)}: ${problem}`);
  const known = declared.map((one) => one.name);
  const other = Object.keys(args).find((key) => !known.includes(key));
  if (other !== undefined)
    throw invalid(`it has no argument ${shown(other)}${known.length > 0 ? `, only ${known.join(', ')}` : ''}`);
  const missing = declared.find((one) => one.required && (args[one.name] ?? '') === '');
  if (missing) throw invalid(`its argument "${missing.name}" is missing`);
  return args;
}
