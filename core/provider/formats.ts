/** The wire formats of all providers. A call's is recognised by method and path; null for everything that is no conversation turn. */
import { z } from 'zod';
import type { WireFormat } from './format.ts';
import { providers } from './providers.ts';

type KnownFormat = (typeof providers)[number]['formats'][number];

/** All that we read. They match different paths, so their order does not matter. */
export const formats: readonly KnownFormat[] = providers.flatMap(({ formats }): KnownFormat[] => [...formats]);

export const FormatId = z.enum(formats.map(({ id }) => id));
export type FormatId = z.infer<typeof FormatId>;

/** `path` is a path name without query and without our provider prefix; any prefix of a gateway's own may stand before. */
export const formatOf = (method: string, path: string): KnownFormat | null =>
  formats.find((format) => format.matches(method, path)) ?? null;

/** null: none of ours. */
export const formatNamed = (id: string): WireFormat | null => byId.get(id) ?? null;

const byId = new Map<string, WireFormat>(formats.map((format) => [format.id, format]));
export const formatById = (id: FormatId): WireFormat => byId.get(id) as WireFormat;

/** Why an answer ended, by the word of any format, since a session's calls may be of several; null: unknown. */
export const stopKind = (reason: string): 'ended' | 'cut' | 'tools' | null => stopKinds.get(reason) ?? null;

const stopKinds = new Map(
  formats.flatMap(({ stopReasons: { ended, cut, tools } }) => [
    ...ended.map((word) => [word, 'ended'] as const),
    ...cut.map((word) => [word, 'cut'] as const),
    ...tools.map((word) => [word, 'tools'] as const),
  ]),
);

const keysOf = (keys: (format: WireFormat) => readonly (string | null)[]): readonly string[] => [
  ...new Set(formats.flatMap(keys).filter((key) => key !== null)),
];

/** The top-level arrays of request bodies that are cut into their elements, whatever the format. */
export const cutArrays = keysOf(({ messagesKey, systemKey, toolsKey }) => [messagesKey, systemKey, toolsKey]);

/** Those that hold messages. */
export const messageArrays = keysOf(({ messagesKey }) => [messagesKey]);
