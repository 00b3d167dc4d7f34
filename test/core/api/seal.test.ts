/** Do both CONTRACT files hold the fingerprint of what is promised now, and does it move with each promise and nothing else? */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CONTRACTS, printContracts } from '../../../core/cli/contract.ts';
import { type Document, seal } from '../../../core/http/contract.ts';
import { packageRoot } from '../../../core/package-root.ts';
import type { Json } from '../../support/read-api.ts';

const test = suite('contract seals');

for (const [name, { file, compile }] of Object.entries(CONTRACTS)) {
  test(`${file} seals the contract`, () => {
    const now = seal(compile('0'));
    const sealed = readFileSync(join(packageRoot(), file), 'utf8').trim();
    if (sealed !== now)
      console.log(`The contract moved. If that is meant, run \`npm run seal\`; ${file} will hold:\n${now}`);
    assert.is(sealed, now);
  });

  test(`the ${name} contract is the same each time it is compiled, whatever the version`, () => {
    assert.equal(compile('1'), compile('1'));
    assert.is(seal(compile('1')), seal(compile('2')));
  });
}

test('svc contract prints both documents', async () => {
  let printed = '';
  await printContracts({ seal: false }, { out: (text) => (printed += text) });
  const { api, ingest } = JSON.parse(printed) as Record<string, { openapi: string; paths: object }>;
  assert.is(api?.openapi, '3.1.0');
  assert.ok(Object.keys(api?.paths ?? {}).includes('/v1/sessions'));
  assert.ok(Object.keys(ingest?.paths ?? {}).includes('/ping'));
});

type Node = Record<string, Json>;
type Place = { node: Node; where: string };
type Found = {
  schemas: Place[];
  parameters: Place[];
  operations: Place[];
  answers: Place[];
  bodies: Place[];
  paths: Place[];
};

/** Everything in a document that can be changed, by what it is. */
function placesOf(document: Json): Found {
  const found: Found = { schemas: [], parameters: [], operations: [], answers: [], bodies: [], paths: [] };
  const schema = (node: Json, where: string): void => {
    if (typeof node !== 'object' || node === null) return;
    found.schemas.push({ node, where });
    for (const [name, one] of Object.entries(node.properties ?? {})) schema(one, `${where}.${name}`);
    for (const key of ['items', 'additionalProperties', 'propertyNames']) schema(node[key], `${where} ${key}`);
    for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
      for (const one of node[key] ?? []) if (one.$ref === undefined) schema(one, `${where} ${key}`);
  };
  const contents = (content: Json, where: string) => {
    for (const one of Object.values(content ?? {}) as Json[])
      if (one.schema.$ref === undefined) schema(one.schema, where);
  };
  for (const [name, one] of Object.entries(document.components.schemas)) schema(one, name);
  for (const [name, answer] of Object.entries(document.components.responses as Node)) {
    found.answers.push({ node: answer, where: name });
    contents(answer.content, name);
  }
  for (const [path, methods] of Object.entries(document.paths as Node)) {
    found.paths.push({ node: methods, where: path });
    for (const [method, operation] of Object.entries(methods as Node)) {
      const where = `${method} ${path}`;
      found.operations.push({ node: operation, where });
      for (const one of operation.parameters ?? []) {
        found.parameters.push({ node: one, where: `${where} ${one.name}` });
        schema(one.schema, `${where} ${one.name}`);
      }
      if (operation.requestBody) found.bodies.push({ node: operation.requestBody, where });
      contents(operation.requestBody?.content, where);
      for (const [status, answer] of Object.entries(operation.responses as Node)) {
        found.answers.push({ node: answer, where: `${where} ${status}` });
        contents(answer.content, `${where} ${status}`);
      }
    }
  }
  return found;
}

type Change = { at: keyof Found; may?: (node: Node) => boolean; make(node: Node, text: string): void };

const DOC_COMMENTS: Record<string, Change> = {
  'the description of a schema': { at: 'schemas', make: (node, text) => Object.assign(node, { description: text }) },
  'the title of a schema': { at: 'schemas', make: (node, text) => Object.assign(node, { title: text }) },
  'the examples of a schema': {
    at: 'schemas',
    make: (node, text) => Object.assign(node, { examples: [text, { type: text }] }),
  },
  'the description of a parameter': {
    at: 'parameters',
    make: (node, text) => Object.assign(node, { description: text }),
  },
  'the example of a parameter': { at: 'parameters', make: (node, text) => Object.assign(node, { example: text }) },
  'the example of an answer': {
    at: 'answers',
    may: (node) => Object.keys(node.content ?? {}).length > 0,
    make: (node, text) => {
      for (const media of Object.values(node.content) as Node[]) media.example = { error: text };
    },
  },
  'the lack of all of them': {
    at: 'schemas',
    make: (node) => {
      for (const key of ['description', 'title', 'example', 'examples']) Reflect.deleteProperty(node, key);
    },
  },
};

/** Where something stands in the source, which promises nothing. */
const ORDERS: Record<string, Change> = {
  'the order of fields': {
    at: 'schemas',
    may: (node) => node.required?.length > 1,
    make: (node) => node.required.reverse(),
  },
  'the order of parameters': {
    at: 'operations',
    may: (node) => node.parameters?.length > 1,
    make: (node) => node.parameters.reverse(),
  },
};

const PROMISES: Record<string, Change> = {
  'a new parameter': {
    at: 'operations',
    make: (node, text) =>
      Object.assign(node, {
        parameters: [...(node.parameters ?? []), { name: text, in: 'query', schema: { type: 'string' } }],
      }),
  },
  'a parameter less': {
    at: 'operations',
    may: (node) => node.parameters?.length > 0,
    make: (node) => node.parameters.pop(),
  },
  'the name of a parameter': { at: 'parameters', make: (node, text) => Object.assign(node, { name: text }) },
  'whether a parameter is required': {
    at: 'parameters',
    make: (node) => Object.assign(node, { required: !node.required }),
  },
  'the type of a parameter': { at: 'parameters', make: (node) => Object.assign(node, { schema: { type: 'number' } }) },
  'a limit of a parameter': { at: 'parameters', make: (node) => Object.assign(node.schema, { maxLength: 7 }) },
  'a default': { at: 'parameters', make: (node, text) => Object.assign(node.schema, { default: text }) },
  'a new status': {
    at: 'operations',
    make: (node, text) => Object.assign(node.responses, { 418: { description: text } }),
  },
  'a status less': { at: 'operations', make: (node) => Reflect.deleteProperty(node.responses, 403) },
  'the content type of an answer': {
    at: 'answers',
    may: (node) => Object.keys(node.content ?? {}).length > 0,
    make: (node) => Object.assign(node, { content: { 'text/plain': Object.values(node.content)[0] } }),
  },
  'a header less': {
    at: 'answers',
    may: (node) => node.headers,
    make: (node) => Reflect.deleteProperty(node.headers, Object.keys(node.headers)[0] ?? ''),
  },
  'a new field': {
    at: 'schemas',
    may: (node) => node.properties,
    make: (node, text) => Object.assign(node.properties, { [text]: {} }),
  },
  'a field called description': {
    at: 'schemas',
    may: (node) => node.properties && !node.properties.description,
    make: (node) => Object.assign(node.properties, { description: { type: 'string' } }),
  },
  'a field less': {
    at: 'schemas',
    may: (node) => Object.keys(node.properties ?? {}).length > 0,
    make: (node) => Reflect.deleteProperty(node.properties, Object.keys(node.properties)[0] ?? ''),
  },
  'a field that need not be there': {
    at: 'schemas',
    may: (node) => node.required?.length > 0,
    make: (node) => node.required.pop(),
  },
  'a format': { at: 'schemas', make: (node, text) => Object.assign(node, { format: text }) },
  'a value less of a list': {
    at: 'schemas',
    may: (node) => node.enum?.length > 0,
    make: (node) => node.enum.pop(),
  },
  'the summary of an operation': { at: 'operations', make: (node, text) => Object.assign(node, { summary: text }) },
  'the description of an operation': {
    at: 'operations',
    make: (node, text) => Object.assign(node, { description: text }),
  },
  'the id of an operation': { at: 'operations', make: (node, text) => Object.assign(node, { operationId: text }) },
  'the tag of an operation': { at: 'operations', make: (node, text) => Object.assign(node, { tags: [text] }) },
  'whether a token is asked for': {
    at: 'operations',
    make: (node, text) => Object.assign(node, { security: [{ [text]: [] }] }),
  },
  'the description of an answer': { at: 'answers', make: (node, text) => Object.assign(node, { description: text }) },
  'the description of a body': { at: 'bodies', make: (node, text) => Object.assign(node, { description: text }) },
  'whether a body is required': { at: 'bodies', make: (node) => Object.assign(node, { required: !node.required }) },
  'a new method': {
    at: 'paths',
    make: (node, text) => Object.assign(node, { trace: { summary: text, responses: {} } }),
  },
};

for (const [name, { compile }] of Object.entries(CONTRACTS)) {
  const text = JSON.stringify(compile('0'));
  const sealed = seal(JSON.parse(text) as Document);
  const whole = placesOf(JSON.parse(text));

  const moves = (what: string, { at, may = () => true, make }: Change, expected: boolean) =>
    test(`${what} ${expected ? 'moves' : 'does not move'} the seal of the ${name} contract`, async () => {
      const eligible = whole[at].flatMap(({ node }, index) => (may(node) ? [index] : []));
      if (name === 'ingest' && eligible.length === 0) return; // it may have nothing of the kind, like a parameter
      await fc.assert(
        fc.property(fc.constantFrom(...eligible), fc.uuid(), (index, words) => {
          const document = JSON.parse(text);
          const { node, where } = placesOf(document)[at][index] as Place;
          make(node, words);
          assert.is(seal(document) !== sealed, expected, where);
        }),
        { numRuns: 20 },
      );
    });
  for (const [what, change] of Object.entries({ ...DOC_COMMENTS, ...ORDERS })) moves(what, change, false);
  for (const [what, change] of Object.entries(PROMISES)) moves(what, change, true);
}

test.run();
