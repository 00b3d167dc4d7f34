/** Is a document served as part of ours only when it can be, and is what keeps it out said by path and method? */
import { createHash } from 'node:crypto';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../../core/api/app.ts';
import { manifestDigest, parseManifest } from '../../../../core/cassette/admission/manifest.ts';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { joinedDocument } from '../../../../core/cassette/openapi/joined-document.ts';
import { type AdmissionStep, Rejection } from '../../../../core/cassette/running.ts';
import { documentWith, goodManifest } from '../../../support/cassette-document.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('document of a cassette');

const OK = { 200: { description: 'ok' } };

const read = (text: string, name = 'my-notes') => readDocument(text, { name, isolation: 'process' });
const readWith = async (change: (document: Json) => void): Promise<Json> => (await read(documentWith(change))).document;
const rejectionOf = async (text: string): Promise<Rejection> => {
  try {
    await read(text);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  return assert.unreachable('it was taken') as never;
};

test('it is told by its digests, and by the manifest in it', async () => {
  const text = documentWith();
  const { manifest, manifest_digest, openapi_digest } = await read(text);
  assert.equal(manifest, parseManifest(goodManifest()));
  assert.is(manifest_digest, manifestDigest(manifest));
  assert.is(openapi_digest, `sha256:${createHash('sha256').update(text).digest('hex')}`);
});

test('its paths are those of its mount, by the installed name; its health and document stay behind', async () => {
  const document = await readWith(() => {});
  assert.equal(Object.keys(document.paths), [
    '/v1/cassettes/my-notes',
    '/v1/cassettes/my-notes/{id}',
    '/v1/cassettes/my-notes/find',
  ]);
  const { links } = document.paths['/v1/cassettes/my-notes'].get.responses[200];
  assert.is(links.one.operationRef, '#/paths/~1v1~1cassettes~1my-notes~1%7Bid%7D/get');
});

test('names stay as they are, and an operation without an id gets one', async () => {
  const { paths, components } = await readWith(() => {});
  assert.is(paths['/v1/cassettes/my-notes'].get.operationId, 'listNotes');
  assert.is(paths['/v1/cassettes/my-notes/{id}'].delete.operationId, 'delete_by_id');
  assert.ok(components.schemas.Note);
  const taken = await readWith((d) => (d.paths['/api/notes'].get.operationId = 'delete_by_id'));
  assert.is(taken.paths['/v1/cassettes/my-notes/{id}'].delete.operationId, 'delete_by_id_');
});

test('where it is and who gets in are ours to say', async () => {
  const document = await readWith(() => {});
  assert.not('servers' in document);
  assert.not('servers' in document.paths['/v1/cassettes/my-notes/{id}']);
  assert.equal(document.security, [{ bearer: [] }, {}]);
  assert.not('security' in document.paths['/v1/cassettes/my-notes'].get, 'not even that nobody is asked');
  assert.equal(Object.keys(document.components.securitySchemes), ['bearer']);
  assert.is(document.components.securitySchemes.bearer.scheme, 'bearer');
});

test('what is served is a valid document for those who read it', async () => {
  const document = await readWith(() => {});
  // readers take what stands in examples for references
  const { properties } = document.components.schemas.Group;
  delete properties.$ref;
  delete document.components.schemas.Text.properties.text.default;
  delete document.paths['/v1/cassettes/my-notes'].get.responses[200].content['application/json'].example;
  const byReadme = await validate(structuredClone(document));
  assert.ok(byReadme.valid, JSON.stringify(byReadme));
  const bySeriousme = await new Validator().validate(structuredClone(document));
  assert.ok(bySeriousme.valid, JSON.stringify(bySeriousme.errors));
});

test('examples, defaults and members that only look like references are left alone', async () => {
  const { paths, components } = await readWith(() => {});
  assert.is(
    paths['/v1/cassettes/my-notes'].get.responses[200].content['application/json'].example[0].$ref,
    '#/not/a/reference',
  );
  assert.equal(components.schemas.Text.properties.text.default, { $ref: '#/no' });
  assert.equal(components.schemas.Group.properties.$ref, { type: 'string' });
});

test('a cassette without a prefix, and one whose health is below its own', async () => {
  const text = documentWith((d) => {
    d['x-svc-cassette'].api = { prefix_path: '/', health: '/notes/health' };
    d.paths = {
      '/notes/health': { get: { responses: { 200: { description: 'It is well' } } } },
      '/notes': { get: { responses: { 200: { description: 'Notes' } } } },
    };
  });
  const { document } = await read(text, 'n2');
  assert.equal(Object.keys(document.paths), ['/v1/cassettes/n2/health', '/v1/cassettes/n2'], 'what is mounted is told');
});

const PLAIN = { responses: { 200: { description: 'Fine' } } };
const at = (path: string) => (d: Json) => (d.paths[path] = { get: PLAIN });
const schema = (given: unknown) => (d: Json) => (d.components.schemas.Problem = given);

const MUTANTS: Record<string, [step: AdmissionStep, reason: RegExp, change: (document: Json) => void]> = {
  'no manifest': ['manifest', /has no "x-svc-cassette" at its root/, (d) => delete d['x-svc-cassette']],
  'a bad manifest': ['manifest', /manifest: it is no object/, (d) => (d['x-svc-cassette'] = 'notes')],
  'the wrong kind': ['manifest', /kind: must be "svc\.cassette\/v1"/, (d) => (d['x-svc-cassette'].kind = 'v2')],
  'an unknown key': ['manifest', /image: there is no such member/, (d) => (d['x-svc-cassette'].image = 'x')],
  'a reserved name': ['manifest', /cassette\.name: is reserved/, (d) => (d['x-svc-cassette'].cassette.name = 'svc')],
  'an older OpenAPI': ['openapi', /"openapi" must be 3\.1.* is "3\.0\.3"/, (d) => (d.openapi = '3.0.3')],
  'no version of OpenAPI': ['openapi', /"openapi" must be 3\.1.* is none/, (d) => delete d.openapi],
  'another dialect': ['openapi', /leave "jsonSchemaDialect" out/, (d) => (d.jsonSchemaDialect = 'https://x.example/d')],
  'no title': [
    'openapi',
    /no valid OpenAPI 3\.1; info: must have required property 'title'/,
    (d) => delete d.info.title,
  ],
  'an answer without description': [
    'openapi',
    /no valid OpenAPI 3\.1; GET \/api\/notes\/\{id\}, responses\.200: must have required property 'description'/,
    (d) => delete d.paths['/api/notes/{id}'].get.responses[200].description,
  ],
  'a member that OpenAPI does not know': [
    'openapi',
    /no valid OpenAPI 3\.1; GET \/api\/notes: .*\("respones" is none\)/,
    (d) => (d.paths['/api/notes'].get.respones = {}),
  ],
  'a path of somebody else': ['openapi', /^[^:]*: \/metrics: it is not below \/api\/notes/, at('/metrics')],
  'a path that only begins like its own': ['openapi', /: \/api\/notesy: it is not below/, at('/api/notesy')],
  'a path with the name in capitals': ['openapi', /: \/api\/Notes: it is not below/, at('/api/Notes')],
  'a path whose name is a parameter': ['openapi', /: \/api\/\{notes\}\/x: it is not below/, at('/api/{notes}/x')],
  'a path that climbs': ['openapi', /: its path has a "\." or "\.\." segment/, at('/api/notes/../other')],
  'a path that stays': ['openapi', /: its path has a "\." or "\.\." segment/, at('/api/notes/./x')],
  'a path that climbs in disguise': ['openapi', /: its path has a percent escape/, at('/api/notes/%2e%2e/other')],
  'a path with a gap': ['openapi', /: its path has an empty segment/, at('/api/notes//x')],
  'a path with a query': ['openapi', /: its path has an empty segment, or characters/, at('/api/notes/x?y=z')],
  'a path with a backslash': ['openapi', /or characters that a path cannot have/, at('/api/notes/..\\x')],
  'the path of its contract': ['openapi', /its document is served there/, at('/api/notes/openapi.json')],
  'one path under two names': [
    'openapi',
    /\/api\/notes\/\{note\}: it is the same path as \/api\/notes\/\{id\}/,
    at('/api/notes/{note}'),
  ],
  'one operationId twice': [
    'openapi',
    /GET \/api\/notes\/\{id\}: its operationId "listNotes" is that of GET \/api\/notes$/,
    (d) => (d.paths['/api/notes/{id}'].get.operationId = 'listNotes'),
  ],
  'no response': [
    'openapi',
    /GET \/api\/notes: it declares no response/,
    (d) => delete d.paths['/api/notes'].get.responses,
  ],
  TRACE: ['openapi', /TRACE \/api\/notes: TRACE is not passed on/, (d) => (d.paths['/api/notes'].trace = PLAIN)],
  'a parameter that is not declared': [
    'openapi',
    /GET \/api\/notes\/\{id\}: it does not declare its parameter \{id\}/,
    (d) => delete d.paths['/api/notes/{id}'].parameters,
  ],
  'a parameter that its path does not have': [
    'openapi',
    /GET \/api\/notes: its path has no \{id\}/,
    (d) => (d.paths['/api/notes'].parameters = d.paths['/api/notes/{id}'].parameters),
  ],
  'a parameter twice': [
    'openapi',
    /GET \/api\/notes: it declares a parameter twice/,
    (d) => d.paths['/api/notes'].get.parameters.push(d.components.parameters.Limit),
  ],
  'a path item elsewhere': [
    'openapi',
    /refers to a path item; write it out/,
    (d) => (d.paths['/api/notes/x'] = { $ref: '#/paths/~1api~1notes' }),
  ],
  'a reference out of the document': [
    'openapi',
    /components\.schemas\.Problem: refers to "https:.*", which is not within the document/,
    schema({ $ref: 'https://evil.example/schema.json' }),
  ],
  'a reference to a file': [
    'openapi',
    /refers to "\/etc\/passwd", which is not within/,
    schema({ $ref: '/etc/passwd' }),
  ],
  'a reference to nothing': [
    'openapi',
    /refers to "#\/components\/schemas\/Gone", where nothing stands/,
    schema({ $ref: '#/components/schemas/Gone' }),
  ],
  'a reference to what every object has': [
    'openapi',
    /where nothing stands/,
    schema({ $ref: '#/components/schemas/constructor' }),
  ],
  'a reference to a thing of another kind': [
    'openapi',
    /refers to "#\/components\/schemas\/Note", where no responses are/,
    (d) => (d.components.responses.Bad = { $ref: '#/components/schemas/Note' }),
  ],
  'a reference to itself': ['openapi', /refers in a circle/, schema({ $ref: '#/components/schemas/Problem' })],
  'a circle through choices': [
    'openapi',
    /refers in a circle/,
    schema({ anyOf: [{ type: 'string' }, { not: { $ref: '#/components/schemas/Problem' } }] }),
  ],
  'a circle of answers': [
    'openapi',
    /refers in a circle/,
    (d) => (d.components.responses.Bad = { $ref: '#/components/responses/Bad' }),
  ],
  'a reference into what stays behind': [
    'openapi',
    /where nothing stands/,
    schema({ $ref: '#/paths/~1ping/get/responses/200' }),
  ],
  'a schema with an id': ['openapi', /has \$id; name the schema under components\.schemas/, schema({ $id: 'x' })],
  'a type that is none': [
    'openapi',
    /components\.schemas\.Problem\.type: must be of null, boolean/,
    schema({ type: 'strin' }),
  ],
  'a pattern that is none': [
    'openapi',
    /\.pattern: is no regular expression/,
    schema({ type: 'string', pattern: '(' }),
  ],
  'required as in drafts of old': ['openapi', /\.required: must be a list of names/, schema({ required: true })],
  'a key called __proto__': [
    'openapi',
    /a key is called "__proto__" at \/components\/schemas$/,
    (d) => Object.defineProperty(d.components.schemas, '__proto__', { value: {}, enumerable: true }),
  ],
};
for (const [what, [step, reason, change]] of Object.entries(MUTANTS))
  test(`${what} keeps it out at the step ${step}`, async () => {
    const rejection = await rejectionOf(documentWith(change));
    assert.is(rejection.step, step, rejection.message);
    assert.match(rejection.message, reason);
    assert.ok(rejection.message.length < 500);
  });

test('every path and operation that is wrong is told at once', async () => {
  const { message, problems } = await rejectionOf(
    documentWith((d) => {
      at('/a')(d);
      at('/b')(d);
      d.paths['/api/notes'].get.responses = undefined;
    }),
  );
  assert.match(message, /: \/a: .* \(and 2 more\)$/);
  assert.is(problems.length, 3);
});

test('as many problems are told as somebody reads', async () => {
  const { problems } = await rejectionOf(
    documentWith((d) => {
      for (let n = 0; n < 900; n++) at(`/elsewhere/${n}`)(d);
    }),
  );
  assert.is(problems.length, 51);
  assert.is(problems.at(-1), 'and 850 more');
});

test('what is no JSON keeps it out, saying where and quoting nothing', async () => {
  for (const [text, reason] of [
    ['', 'it is empty'],
    ['<html>secret</html>', 'it is no JSON'],
    ['{"openapi": "3.1.0",\n  secret', 'line 2, column 3'],
    [`${documentWith()} {}`, 'it is no JSON'],
    ['[]', 'it is no JSON object'],
    ['['.repeat(1000) + ']'.repeat(1000), 'nests deeper than 200 levels'],
  ] as const) {
    const { step, message } = await rejectionOf(text);
    assert.is(step, 'openapi');
    assert.match(message, reason);
    assert.not.match(message, 'secret');
  }
});

test('a key that stands twice keeps it out: in the manifest as well as anywhere else', async () => {
  const text = documentWith();
  const inManifest = await rejectionOf(text.replace('"version":"1.0.0"', '"version":"1.0.0","vers\\u0069on":"2"'));
  assert.match(inManifest.message, 'the key "version" stands twice at /info');
  const cassette = await rejectionOf(text.replace('"name":"notes",', '"name":"notes","name":"other",'));
  assert.equal(
    [cassette.step, cassette.message],
    ['manifest', 'Cannot read the manifest: the key "name" stands twice at /x-svc-cassette/cassette'],
  );
  const path = await rejectionOf(text.replace('"/api/notes/find":', '"/api/notes":'));
  assert.equal([path.step, path.message.endsWith('the key "/api/notes" stands twice at /paths')], ['openapi', true]);
});

test('2 MiB keep it out, unread', async () => {
  const { step, message } = await rejectionOf(documentWith((d) => (d.info.description = 'x'.repeat(2 * 1024 * 1024))));
  assert.is(step, 'openapi');
  assert.match(message, /it has 2\d{6} bytes, and at most 1048576 are read/);
});

test('a document that refers to itself a billion times over is read as it is, not written out', async () => {
  const text = documentWith((d) => {
    for (let n = 0; n < 60; n++) {
      const next = { $ref: `#/components/schemas/L${n + 1}` };
      d.components.schemas[`L${n}`] = { type: 'object', properties: { a: next, b: next, c: next } };
    }
    d.components.schemas.L60 = { type: 'string' };
  });
  assert.ok(JSON.stringify((await read(text)).document).length < text.length * 2);
});

test('a document of 120 KiB with a thousand operations does not hold the loop, neither when it is read nor when it is joined', async () => {
  const text = documentWith((d) => {
    const { get } = d.paths['/api/notes/{id}'];
    for (let n = 0; n < 900; n++)
      d.paths[`/api/notes/o${n}`] = { get: { ...get, operationId: undefined, parameters: [], responses: OK } };
  });
  assert.ok(text.length > 80_000 && text.length < 140_000, String(text.length));
  const core = readContract('0');
  const round = async (): Promise<number> => {
    let worst = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }, 2);
    const { document } = await read(text);
    const joined = await joinedDocument(core, [{ name: 'my-notes', document }]);
    await new Promise((resolve) => setTimeout(resolve, 10));
    clearInterval(timer);
    assert.ok(Object.keys(JSON.parse(joined).paths).length > 900);
    return worst;
  };
  const worst = Math.min(await round(), await round(), await round()); // others may hold the processors
  assert.ok(worst < 200, `the loop stood still for ${Math.round(worst)} ms`); // some 20 ms on a machine at rest
});

test('a chain of references as long as the document comes to its end', async () => {
  const text = documentWith((d) => {
    for (let n = 0; n < 20_000; n++) d.components.schemas[`L${n}`] = { $ref: `#/components/schemas/L${n + 1}` };
    d.components.schemas.L20000 = { type: 'string' };
  });
  assert.ok((await read(text)).document);
});

test('a large document is read beside everything else, with the same outcome', async () => {
  const large = (d: Json) => {
    for (let n = 0; n < 10_000; n++) d.components.schemas[`L${n}`] = { type: 'object', properties: { a: true } };
  };
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const { document, tools } = await read(documentWith(large));
  clearInterval(timer);
  assert.ok(ticks > 10, `${ticks} ticks`);
  assert.ok(document.paths['/v1/cassettes/my-notes/find']);
  assert.is(tools[0]?.full_name, 'my-notes_find');
  const { step, message, problems } = await rejectionOf(
    documentWith((d) => {
      large(d);
      at('/elsewhere')(d);
      at('/anywhere')(d);
    }),
  );
  assert.equal([step, problems.length], ['openapi', 2]);
  assert.match(message, '/elsewhere: it is not below /api/notes');
});

test('more objects or operations than a cassette can need keep it out', async () => {
  const objects = await rejectionOf(documentWith((d) => (d['x-more'] = Array.from({ length: 50_000 }, () => []))));
  assert.match(objects.message, 'it has more than 50000 objects and lists');
  const operations = await rejectionOf(
    documentWith((d) => {
      for (let n = 0; n < 1000; n++) at(`/api/notes/${n}`)(d);
    }),
  );
  assert.match(operations.message, 'it has 1004 operations, and at most 1000 are served of a cassette');
});

test.run();
