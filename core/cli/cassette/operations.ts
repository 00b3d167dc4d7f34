/** The operations of a cassette, with what each takes, read from its OpenAPI document for the command line. */
import { METHODS, type Node, type OpenApi } from '../../cassette/openapi/openapi-shape.ts';
import { isObject } from '../../parse-json.ts';

export type OperationInput = {
  /** As the document has it. */
  name: string;
  in: 'path' | 'query' | 'header' | 'body';
  required: boolean;
  type: 'string' | 'number' | 'boolean' | 'list' | 'json';
  choices: readonly string[];
  description: string;
};

export type Operation = {
  /** Its operationId in kebab-case; without one its method and path. */
  name: string;
  operation_id: string | null;
  method: (typeof METHODS)[number];
  /** With `{name}` for each input that is in it. */
  path: string;
  summary: string;
  inputs: OperationInput[];
  /** Whether it takes a body; `json`: members of it are inputs. */
  body: 'none' | 'json' | 'other';
};

/** In the order of the document. */
export function operationsOf(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = resolved(document, item)[method];
      return isObject(operation) ? [operationFrom(document, { path, item, method, operation })] : [];
    }),
  );
}

type Found = { path: string; item: Node; method: Operation['method']; operation: Node };

function operationFrom(document: OpenApi, { path, item, method, operation }: Found): Operation {
  const parameters = new Map<string, OperationInput>();
  for (const found of [...list(item.parameters), ...list(operation.parameters)]) {
    const input = parameterFrom(document, resolved(document, found));
    if (input) parameters.set(`${input.in} ${input.name}`, input); // those of the operation replace those of the path
  }
  const { body, members } = bodyFrom(document, operation.requestBody);
  const id = typeof operation.operationId === 'string' ? operation.operationId : null;
  return {
    name: kebab(id ?? `${method} ${path.split('/').slice(4).join(' ')}`),
    operation_id: id,
    method,
    path,
    summary: words(operation.summary) || words(operation.description),
    inputs: [...parameters.values(), ...members],
    body,
  };
}

function parameterFrom(document: OpenApi, parameter: Node): OperationInput | null {
  const place = parameter.in;
  if (typeof parameter.name !== 'string' || (place !== 'path' && place !== 'query' && place !== 'header')) return null;
  const schema = resolved(document, parameter.schema);
  return {
    name: parameter.name,
    in: place,
    required: place === 'path' || parameter.required === true,
    ...typeFrom(document, schema),
    description: words(parameter.description) || words(schema.description),
  };
}

function bodyFrom(document: OpenApi, found: unknown): { body: Operation['body']; members: OperationInput[] } {
  if (!isObject(found)) return { body: 'none', members: [] };
  const content = resolved(document, found).content;
  const media = isObject(content) ? content['application/json'] : undefined;
  if (!isObject(media)) return { body: 'other', members: [] };
  const schema = resolved(document, media.schema);
  const required = list(schema.required);
  const members = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
    ([name, property]): OperationInput => {
      const member = resolved(document, property);
      return {
        name,
        in: 'body',
        required: required.includes(name),
        ...typeFrom(document, member),
        description: words(member.description),
      };
    },
  );
  return { body: 'json', members };
}

const SIMPLE = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean' } as const;

/** Lists of texts have a type of their own; whatever else is not simple is written as JSON. */
function typeFrom(document: OpenApi, schema: Node): Pick<OperationInput, 'type' | 'choices'> {
  const choices = list(schema.enum).filter((choice) => typeof choice === 'string');
  const type = list(schema.type).find((one) => one !== 'null') ?? (choices.length > 0 ? 'string' : schema.type);
  if (type === 'array' && resolved(document, schema.items).type === 'string') return { type: 'list', choices: [] };
  return { type: SIMPLE[type as keyof typeof SIMPLE] ?? 'json', choices };
}

const MOST_REFERENCES = 20;

/** What a reference within the document leads to; {} where it leads nowhere. */
function resolved(document: OpenApi, found: unknown): Node {
  let node = found;
  for (let hops = 0; hops < MOST_REFERENCES && isObject(node) && typeof node.$ref === 'string'; hops++) {
    const names = node.$ref.startsWith('#/') ? node.$ref.slice(2).split('/') : [''];
    node = names
      .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((within, name) => (isObject(within) ? within[name] : undefined), document);
  }
  return isObject(node) ? node : {};
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const words = (value: unknown): string => (typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : '');

/** `findSpans` as `find-spans`. */
export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .split(/[^A-Za-z0-9]/)
    .filter((word) => word !== '')
    .join('-')
    .toLowerCase();
