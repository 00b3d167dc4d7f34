/** The resources of cassettes: each is read by one GET operation of its cassette, by a URI that has the operation's path. */
import { ErrorCode, McpError, type ReadResourceResult, type Resource } from '@modelcontextprotocol/sdk/types.js';
import type { Installed } from '../../cassette/installed.ts';
import type { ResourceDeclaration } from '../../cassette/openapi/offers.ts';
import { Refusal } from '../../errors.ts';
import { cassetteAnswer, isUnknown, LATE_MS, type SendRequest } from './cassette-answer.ts';
import { listPage, segmentOf, textOf } from './cassette-lists.ts';
import type { Caller } from './tool.ts';

/** The code of the protocol for a resource that does not exist. */
const UNKNOWN = -32_002;
const MOST_URI = 4_096;

type Offered = ResourceDeclaration & { cassette: string };

export type McpResources = {
  /** `problems`: sentences about what could not be listed. */
  list(
    cursor: string | undefined,
    caller: Caller,
  ): Promise<{ resources: Resource[]; next?: string; problems: string[] }>;
  templates(): { uriTemplate: string; name: string; title: string; description: string; mimeType: string }[];
  /** @throws {McpError} no such resource @throws {Refusal} the cassette did not answer as it should */
  read(uri: string, caller: Caller): Promise<ReadResourceResult>;
};

/** The resources of admitted cassettes; null: none declares any. @param lateMs the deadline for a complete response */
export function cassetteResources(
  installed: readonly Installed[],
  send: SendRequest,
  lateMs = LATE_MS,
): McpResources | null {
  const offered: Offered[] = installed
    .filter(({ state }) => state === 'admitted' || state === 'stale')
    .flatMap(({ entry, document }) =>
      (document?.resources ?? []).map((resource) => ({ ...resource, cassette: entry.name })),
    )
    .sort((one, other) => (one.uri < other.uri ? -1 : 1));
  if (offered.length === 0) return null;
  return {
    async list(cursor, { signal }) {
      const { entries, next, problems } = await listPage(
        'list resources',
        {
          lists: offered.flatMap((one) =>
            one.list === null
              ? []
              : [{ cassette: one.cassette, list: one.list, entryOf: (item) => resourceOf(one, item) }],
          ),
          first: offered
            .filter(({ variables }) => variables.length === 0)
            .map(({ uri, full_name: name, title, description, mimeType }) => ({
              ...{ uri, name, title, description, mimeType },
            })),
          cursor,
        },
        { send, signal, lateMs },
      );
      return { resources: entries, ...(next === undefined ? {} : { next }), problems };
    },
    templates: () =>
      offered
        .filter(({ variables }) => variables.length > 0)
        .map(({ uri, full_name: name, title, description, mimeType }) => ({
          ...{ uriTemplate: uri, name, title, description, mimeType },
        })),
    async read(uri, { signal }) {
      const unknown = () => new McpError(UNKNOWN, `Cannot read the resource ${shown(uri)}: there is none`);
      const found = uri.length > MOST_URI ? null : pathOf(offered, uri);
      if (!found) throw unknown();
      const { cassette, mimeType, path } = found;
      const request = { cassette, path, what: `read the resource ${shown(uri)}` };
      try {
        const { bytes, contentType } = await cassetteAnswer(request, { send, signal, lateMs });
        const type = contentType.split(';')[0]?.trim().toLowerCase() || mimeType;
        const text = isText(type) ? utf8(bytes) : null;
        const content = text === null ? { blob: bytes.toString('base64') } : { text };
        return { contents: [{ uri, mimeType: type, ...content }] };
      } catch (error) {
        throw isUnknown(error) ? unknown() : error;
      }
    },
  };
}

const shown = (uri: string) => JSON.stringify(uri.slice(0, 200));

/** null: the item lacks a name, or a value for a placeholder of the URI. */
function resourceOf({ uri, mimeType, variables }: Offered, item: Record<string, unknown>): Resource | null {
  const name = textOf(item.name, 200);
  const values = variables.map((variable) => segmentOf(item[variable]));
  if (name === undefined || values.includes(null)) return null;
  const [title, description] = [textOf(item.title, 200), textOf(item.description, 1_024)];
  return {
    uri: variables.reduce((text, variable, i) => text.replace(`{${variable}}`, () => values[i] ?? ''), uri),
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    mimeType,
  };
}

/** The declaration of a URI, and the path to read; those without placeholders are first. null: nothing has that URI. */
function pathOf(offered: readonly Offered[], uri: string): (Offered & { path: string }) | null {
  const byPlaceholders = [...offered].sort((one, other) => one.variables.length - other.variables.length);
  for (const one of byPlaceholders) {
    const pattern = one.uri.split(/\{[^{}]*\}/).map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    const values = new RegExp(`^${pattern.join('([^/?#]+)')}$`).exec(uri)?.slice(1).map(decodedSegment);
    if (!values || values.includes(null)) continue;
    let at = 0;
    return { ...one, path: one.path.replace(/\{[^{}]*\}/g, () => values[at++] ?? '') };
  }
  return null;
}

/** Written anew, since a URI may have escaped what changes the path. */
function decodedSegment(segment: string): string | null {
  try {
    return segmentOf(decodeURIComponent(segment));
  } catch {
    return null;
  }
}

const isText = (type: string): boolean =>
  /^text\/|^application\/(?:json|xml|yaml|x-ndjson|toml|javascript|sql)$|\+(?:json|xml|yaml)$/.test(type);

/** null: the bytes are no UTF-8. */
function utf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** What the protocol says of a failure: a cassette's is an internal error with its reason, a cursor's the caller's. */
export const offerError = (error: unknown): unknown =>
  error instanceof Refusal
    ? new McpError(error.code === 'bad-request' ? ErrorCode.InvalidParams : ErrorCode.InternalError, error.message)
    : error;
