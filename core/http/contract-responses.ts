/** What a contract declares for every response: its headers, the failures that need no handler, and an example of each failure. */
import { STATUS_CODES } from 'node:http';

/** A listener's failure responses, as its contract declares them. `type` is their content type, `schema` the name of a component. */
export type Failures = {
  type: string;
  schema: string;
  /** @param routeExample the example that the route declares, if any */
  example(status: number, method: string, routeExample: unknown): unknown;
};

type Media = { schema?: unknown; example?: unknown };
type ResponseObject = { description: string; headers?: Record<string, unknown>; content?: Record<string, Media> };
type Operation = { responses: Record<string, ResponseObject> };
type Methods = Record<string, Operation>;

const HEADERS = {
  allow: { description: 'The methods that would do', required: true, schema: { type: 'string' } },
  'cache-control': {
    description: '`no-store`, except of what is the same for everybody',
    required: true,
    schema: { type: 'string' },
  },
  'cross-origin-resource-policy': {
    description: 'For browsers: no page of another origin may embed it',
    required: true,
    schema: { type: 'string', const: 'same-origin' },
  },
  'retry-after': {
    description: 'In how many seconds to ask again',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'server-timing': {
    description: 'Milliseconds until the head was sent: `total`, and `db` for how many of them the database worked',
    schema: { type: 'string' },
  },
  'www-authenticate': { description: 'What is asked for', required: true, schema: { type: 'string' } },
  'x-content-type-options': {
    description: 'For browsers: its content type holds',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
  },
  'x-request-id': {
    description: 'Under which the log has more: what was sent in this header when that is a UUID, else one of our own',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
} as const;
type Header = keyof typeof HEADERS;

const ALWAYS: readonly Header[] = [
  'cache-control',
  'cross-origin-resource-policy',
  'x-content-type-options',
  'x-request-id',
];
const HEADER_OF_STATUS: { [status: string]: Header } = { 401: 'www-authenticate', 405: 'allow', 503: 'retry-after' };

/** What http/listen.ts responds to a request that reaches no handler. */
const WITHOUT_HANDLER: { [status: string]: string } = {
  400: 'The request is malformed',
  408: 'The request came too slowly',
  431: 'The head of the request is too large',
};

/** A document's paths with all that holds for each response of the listener, and the components that they refer to. */
export function withResponses(declared: Record<string, Methods>, failures: Failures) {
  const paths = mapped(declared, (methods, path) =>
    mapped(methods, (operation, method) => {
      const timed = method === 'get' && path.startsWith('/v1/') ? Object.fromEntries([reference('server-timing')]) : {};
      const responses = mapped(
        { ...operation.responses, ...responsesWithoutHandler(operation, failures) },
        (response, status) => ({
          ...response,
          headers: { ...headersOfEvery(status), ...timed, ...response.headers },
          ...(response.content ? { content: mapped(response.content, withExample(failures, status, method)) } : {}),
        }),
      );
      return { ...operation, responses };
    }),
  );
  const all = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.entries(responses)),
  );
  const named = new Set(all.flatMap(([, { headers = {} }]) => Object.keys(headers)));
  const headers = Object.fromEntries(Object.entries(HEADERS).filter(([name]) => named.has(name)));
  const common = commonFailures(all);
  const referencingPaths = mapped(paths, (methods) =>
    mapped(methods, (operation) => ({
      ...operation,
      responses: mapped(operation.responses, (response, status) => {
        const one = common.get(status);
        return one && one.text === JSON.stringify(response) ? { $ref: `#/components/responses/${one.name}` } : response;
      }),
    })),
  );
  const responses = Object.fromEntries(
    [...common.values()].map(({ name, text }) => [name, JSON.parse(text) as ResponseObject]),
  );
  return { paths: referencingPaths, components: { headers, responses } };
}

type Common = { name: string; text: string };

/** For each failing status the response that most operations have, when more than one has it: it becomes a shared component. */
function commonFailures(all: readonly [status: string, answer: ResponseObject][]): Map<string, Common> {
  const times = new Map<string, Map<string, number>>();
  for (const [status, response] of all.filter(([one]) => Number(one) >= 400)) {
    const texts = times.get(status) ?? new Map<string, number>();
    const text = JSON.stringify(response);
    times.set(status, texts.set(text, (texts.get(text) ?? 0) + 1));
  }
  const common = new Map<string, Common>();
  for (const [status, texts] of [...times].sort()) {
    const [most] = [...texts].sort(([, one], [, other]) => other - one);
    const name = (STATUS_CODES[status] ?? status).replace(/\W/g, '');
    if (most && most[1] > 1) common.set(status, { name, text: most[0] });
  }
  return common;
}

/** A route's own description of a status stays. Where it has an envelope of its own, the listener's is possible as well. */
const responsesWithoutHandler = (
  { responses }: Operation,
  { type, schema }: Failures,
): Record<string, ResponseObject> =>
  mapped(WITHOUT_HANDLER, (description, status) => ({
    description,
    ...responses[status],
    content: {
      ...responses[status]?.content,
      [type]: { schema: { $ref: `#/components/schemas/${schema}` }, ...responses[status]?.content?.[type] },
    },
  }));

/** The headers of a response with that status, as references into the components of a document that `answered` made. */
export const headersOfEvery = (status: string): Record<string, { $ref: string }> =>
  Object.fromEntries(headersOf(status).map(reference));

const headersOf = (status: string): readonly Header[] => {
  const more = HEADER_OF_STATUS[status];
  return more ? [...ALWAYS, more].sort() : ALWAYS;
};

const reference = (name: Header) => [name, { $ref: `#/components/headers/${name}` }] as const;

const withExample =
  ({ type, example }: Failures, status: string, method: string) =>
  (media: Media, mediaType: string): Media =>
    mediaType === type && Number(status) >= 400
      ? { ...media, example: example(Number(status), method.toUpperCase(), media.example) }
      : media;

const mapped = <From, To>(node: Record<string, From>, map: (value: From, key: string) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value, key)]));
