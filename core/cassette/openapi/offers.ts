/** The resources and prompts that a cassette offers to agents: GET operations with `x-svc-mcp`, and those that list them. */
import { z } from 'zod';
import { rejection } from '../admission/rejection.ts';
import { isNode, type Node, type OpenApi, placeOf } from './openapi-shape.ts';
import { parametersOf } from './parameters-of.ts';
import { EXTENSION, isOffer } from './tool-declarations.ts';

const MOST = 128; // of each kind
const MOST_DESCRIPTION = 4096;

/** The operation that lists resources or prompts; `pages`: it takes a `cursor`. */
export type ListOperation = { path: string; pages: boolean };

export type ResourceDeclaration = {
  /** Installed name, `_`, own name. */
  full_name: string;
  title: string;
  description: string;
  mimeType: string;
  /** `svc://<installed name>/<path below the cassette's own>`; with placeholders it is a template of RFC 6570. */
  uri: string;
  /** The path that is read: one of the cassette's own, with the same placeholders. */
  path: string;
  /** Its placeholders, in their order. */
  variables: readonly string[];
  /** Lists what the template stands for; null: it is not listed. */
  list: ListOperation | null;
};

export type PromptArgument = { name: string; description?: string; required: boolean };

export type PromptDeclaration = {
  /** Installed name, `_`, own name; with a list up to the `_` only, since each entry of that has a name. */
  full_name: string;
  title: string;
  description: string;
  /** The path that is read: one of the cassette's own; with a list its only placeholder stands for the name of a prompt. */
  path: string;
  /** The parameters of its query. */
  arguments: readonly PromptArgument[];
  list: ListOperation | null;
};

export type Offers = { resources: readonly ResourceDeclaration[]; prompts: readonly PromptDeclaration[] };

const Name = z
  .string('needs a name')
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'needs a name of 1 to 64 of A-Z, a-z, 0-9, _ and -');
const List = z.string('must be the operationId of a GET operation');

const Resource = z.strictObject({ name: Name, list: List.optional() });
const Prompt = z
  .strictObject({ name: Name.optional(), list: List.optional() })
  .refine(
    ({ name, list }) => (name === undefined) !== (list === undefined),
    'has either a "name", or a "list" of which each entry has a name',
  );
/** Unknown members beside the two are for other readers, and ignored. */
const Declaration = z.object({ resource: Resource.optional(), prompt: Prompt.optional() });

/** What the declarations of one operation share. */
type Operation = { document: OpenApi; path: string; operation: Node; installed: string; prefix: string };

/**
 * The resources and prompts, by URI and by name. The document has been checked: it is valid and its references lead somewhere.
 * @param name the installed name
 * @param prefix of the cassette's own paths
 * @throws {Rejection} tools, with every problem
 */
export function offersOf(document: OpenApi, { name, prefix }: { name: string; prefix: string }): Offers {
  const problems: string[] = [];
  const resources: ResourceDeclaration[] = [];
  const prompts: PromptDeclaration[] = [];
  for (const [path, { get: operation }] of Object.entries(document.paths)) {
    if (!isNode(operation) || !isOffer(operation[EXTENSION])) continue;
    const problem = (text: string) => void problems.push(`${placeOf(['paths', path, 'get'])}: ${text}`);
    const result = Declaration.safeParse(operation[EXTENSION]);
    if (!result.success) {
      const [issue] = result.error.issues;
      problem(`${[EXTENSION, ...(issue?.path ?? [])].join('.')} ${issue?.message ?? 'is invalid'}`);
      continue;
    }
    const { resource, prompt } = result.data;
    const parts: Operation = { document, path, operation, installed: name, prefix };
    const read = [resource && resourceOf(resource, parts), prompt && promptOf(prompt, parts)];
    for (const one of read)
      if (typeof one === 'string') problem(one);
      else if (one && 'uri' in one) resources.push(one);
      else if (one) prompts.push(one);
  }
  for (const [what, { length }] of Object.entries({ resources, prompts }))
    if (length > MOST) problems.push(`it declares ${length} ${what}, and at most ${MOST} can be offered`);
  problems.push(...twice('resource', resources), ...twice('prompt', prompts));
  if (problems.length > 0) throw rejection('tools', 'Cannot offer its resources and prompts', problems);
  return {
    resources: resources.sort((one, other) => (one.uri < other.uri ? -1 : 1)),
    prompts: prompts.sort((one, other) => (one.full_name < other.full_name ? -1 : 1)),
  };
}

function twice(what: string, declared: readonly { full_name: string }[]): string[] {
  const names = declared.map(({ full_name }) => full_name);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...repeated].map((name) =>
    name.endsWith('_') ? 'it lists prompts by two operations' : `the ${what} "${name}" is declared twice`,
  );
}

/** A text: why it is not valid. */
function resourceOf({ name, list }: z.infer<typeof Resource>, parts: Operation): ResourceDeclaration | string {
  const { document, path, installed, prefix, operation } = parts;
  const variables = placeholders(path);
  const problem =
    (list !== undefined && variables.length === 0
      ? 'a resource whose path has no placeholder is one resource, and lists no others'
      : null) ??
    (variables.some((variable) => !/^[A-Za-z0-9_]+$/.test(variable))
      ? 'the placeholders of a resource have names of A-Z, a-z, 0-9 and _'
      : null) ??
    required(document, path, operation)
      .map((parameter) => `a resource is read by its path alone, and ${parameter} is required`)
      .at(0);
  if (problem) return problem;
  const media = mediaOf(operation, null);
  if ('problem' in media) return `a resource ${media.problem}`;
  const listing = list === undefined ? null : listOf(document, list);
  if (typeof listing === 'string') return listing;
  const texts = textsOf(path, operation, `a resource's`);
  if (typeof texts === 'string') return texts;
  return {
    full_name: `${installed}_${name}`,
    ...texts,
    mimeType: media.type,
    uri: `svc://${installed}${path.slice(prefix.length)}`,
    path,
    variables,
    list: listing,
  };
}

const PROMPT_MEDIA = ['text/plain', 'text/markdown', 'application/json'];

/** A text: why it is not valid. */
function promptOf({ name, list }: z.infer<typeof Prompt>, parts: Operation): PromptDeclaration | string {
  const { document, path, installed, operation } = parts;
  const many = placeholders(path).length;
  if (list === undefined && many > 0)
    return 'a prompt with a name of its own has no placeholder in its path: its arguments are parameters of its query';
  if (list !== undefined && many !== 1)
    return 'the path of prompts that are listed has one placeholder, which stands for the name of each';
  const parameters = parametersHere(document, path, operation);
  const elsewhere = parameters.find((one) => one.in !== 'path' && one.in !== 'query' && one.required === true);
  if (elsewhere) return `the arguments of a prompt are parameters of its query, and "${elsewhere.name}" is required`;
  const media = mediaOf(operation, PROMPT_MEDIA);
  if ('problem' in media) return `a prompt ${media.problem}`;
  const listing = list === undefined ? null : listOf(document, list);
  if (typeof listing === 'string') return listing;
  const texts = textsOf(path, operation, `a prompt's`);
  if (typeof texts === 'string') return texts;
  return {
    full_name: `${installed}_${name ?? ''}`,
    ...texts,
    path,
    arguments: parameters
      .filter((one) => one.in === 'query')
      .map(({ name, description, required }) => ({
        name: String(name),
        ...(typeof description === 'string' ? { description } : {}),
        required: required === true,
      })),
    list: listing,
  };
}

const placeholders = (path: string): string[] => [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');

/** Its own parameters replace those of its path. */
function parametersHere(document: OpenApi, path: string, operation: Node): Node[] {
  const all = [...parametersOf(document, document.paths[path] ?? {}), ...parametersOf(document, operation)];
  return [...new Map(all.map((one) => [`${one.in} ${String(one.name)}`, one])).values()];
}

/** Required parameters that are not in the path. */
const required = (document: OpenApi, path: string, operation: Node): string[] =>
  parametersHere(document, path, operation)
    .filter((one) => one.in !== 'path' && one.required === true)
    .map((one) => `"${String(one.name).slice(0, 100)}"`);

/** The media type of its good responses. @param only those that it may have; null: any */
function mediaOf({ responses }: Node, only: readonly string[] | null): { type: string } | { problem: string } {
  const good = Object.entries(isNode(responses) ? responses : {}).filter(([status]) => /^2/.test(status));
  const types = good.flatMap(([, response]) =>
    isNode(response) && isNode(response.content) ? Object.keys(response.content) : [],
  );
  const [type] = types;
  if (type === undefined) return { problem: 'has a response that it went well (2xx), written out, with its content' };
  if (only && types.some((one) => !only.includes(one)))
    return { problem: `is answered as ${only.join(', ')}, and in no other media type` };
  return { type };
}

/** A text: why no list can be had of it. */
function listOf(document: OpenApi, operationId: string): ListOperation | string {
  const shown = JSON.stringify(operationId.slice(0, 100));
  const found = Object.entries(document.paths).find(([, { get }]) => isNode(get) && get.operationId === operationId);
  if (!found) return `its list ${shown} is no operationId of a GET operation`;
  const [path, { get }] = found;
  const operation = get as Node;
  if (placeholders(path).length > 0 || required(document, path, operation).length > 0)
    return `its list ${shown} has parameters that are required`;
  const media = mediaOf(operation, ['application/json']);
  if ('problem' in media) return `its list ${shown} ${media.problem}`;
  const pages = parametersHere(document, path, operation).some((one) => one.in === 'query' && one.name === 'cursor');
  return { path, pages };
}

/** A text: why it is not valid. */
function textsOf(path: string, operation: Node, whose: string): { title: string; description: string } | string {
  const { summary, description } = operation as { summary?: string; description?: string };
  const text = [description, summary].find((one) => one !== undefined && one.trim() !== '') ?? `GET ${path}`;
  return text.length > MOST_DESCRIPTION
    ? `${whose} description has at most ${MOST_DESCRIPTION} characters`
    : { title: summary ?? text, description: text };
}
