import { mkdtemp } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmissionTimeouts } from '../../../../core/cassette/admission/admission.ts';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { type CassetteHost, openHost } from '../../../../core/cassette/host.ts';
import type { AdmissionState, Installed } from '../../../../core/cassette/installed.ts';
import { ListEntry } from '../../../../core/cassette/list/list.ts';
import { BadList, readLists } from '../../../../core/cassette/list/read-list.ts';
import type { AdmissionStep } from '../../../../core/cassette/running.ts';
import { openLog } from '../../../../core/log.ts';
import { cassettesOf } from '../../../support/cassette-database.ts';
import { cassetteFolder, type Made, openapiOf, removeCassetteFolder } from '../../../support/cassette-folder.ts';
import { databaseSuite, embeddedDatabase, type TestDatabase } from '../../../support/databases.ts';
import { everySourceTried } from '../../../support/every-source-tried.ts';
import type { Json } from '../../../support/read-api.ts';
import { cassetteManifest } from '../../../support/running-cassette.ts';

type Mutant = {
  step: AdmissionStep;
  /** Of its reason and its problems. */
  says: RegExp;
  made: Made;
  /** More of its entry in the list. */
  entry?: object;
};

/** Instead of the document, where that is asked for; `path` and `json` are at hand. */
const openapiAnswers = (javascript: string): Made => ({ before: `if (path === '/openapi') ${javascript}` });
const documented = (change: (document: Json) => void): Made => ({
  document: (document) => {
    change(document);
    return document;
  },
});
const fine = { get: { responses: { 200: { description: 'Fine' } } } };
const ECHO = '/api/notes/echo';
const entry = (name: string, source: string, more: object = {}): ListEntry =>
  ListEntry.parse({ name, source, ...more });
const dbGranted = { grants: { bindings: ['db'] } };

const MUTANTS: Record<string, Mutant> = {
  // What it says of itself
  'a bad manifest': {
    step: 'manifest',
    says: /Cannot read the manifest: it is no object/,
    made: { wholeManifest: 'notes' },
  },
  'the wrong kind': {
    step: 'manifest',
    says: /kind: must be "svc\.cassette\/v1"/,
    made: { manifest: { kind: 'svc.cassette/v2' } },
  },
  'an unknown key': { step: 'manifest', says: /image: there is no such member/, made: { manifest: { image: 'x' } } },
  'a reserved name': { step: 'manifest', says: /cassette\.name: is reserved/, made: { name: 'svc' } },
  'a secret with a default': {
    step: 'manifest',
    says: /config\[0\]\.default: must be left out: a secret has none/,
    made: { manifest: { config: [{ key: 'key', type: 'string', secret: true, default: 'hunter2' }] } },
  },
  'raw turns among its views': {
    step: 'manifest',
    says: /depends\.views\[0\]: is never read by a cassette/,
    made: { manifest: { depends: { views: ['raw_turns'] } } },
  },
  'a manifest in its document that is not that of its module': {
    step: 'manifest',
    says: /manifest of its module and "x-svc-cassette" of its OpenAPI document differ/,
    made: documented((d) => (d['x-svc-cassette'] = cassetteManifest('notes', { tables: [{ name: 'more' }] }))),
  },

  // What it asks for, and what it needs
  'a binding that was not granted': {
    step: 'grants',
    says: /asks for what was not granted: the binding "network"/,
    made: { manifest: { bindings: { network: true } } },
  },
  'a view that was not granted': {
    step: 'grants',
    says: /asks for what was not granted: the view "spans"/,
    made: { manifest: { depends: { views: ['spans'] } } },
  },
  'an extension that was not granted': {
    step: 'grants',
    says: /asks for what was not granted: the extension "vector"/,
    made: { manifest: { depends: { extensions: ['vector'] } } },
  },
  'a setting that is missing': {
    step: 'config',
    says: /"city" is missing: set it in the list's "config", or SVC_CASSETTE_NOTES_CITY/,
    made: { manifest: { config: [{ key: 'city', type: 'string', required: true }] } },
  },
  'an unsupported core': {
    step: 'depends',
    says: /needs the read API v9, and this is v1/,
    made: { manifest: { depends: { core: 'v9' } } },
  },

  // Its document
  'a path of somebody else': {
    step: 'openapi',
    says: /\/v1\/sessions: it is not below \/api\/notes/,
    made: documented((d) => (d.paths['/v1/sessions'] = fine)),
  },
  'a path that climbs': {
    step: 'openapi',
    says: /\/api\/notes\/\.\.\/other: its path has a "\." or "\.\." segment/,
    made: documented((d) => (d.paths['/api/notes/../other'] = fine)),
  },
  'one operationId twice': {
    step: 'openapi',
    says: /GET \/api\/notes\/lines: its operationId "hello" is that of GET \/api\/notes\/hello/,
    made: documented((d) => (d.paths['/api/notes/lines'].get.operationId = 'hello')),
  },
  'an operation without a response': {
    step: 'openapi',
    says: /GET \/api\/notes\/hello: it declares no response/,
    made: documented((d) => delete d.paths['/api/notes/hello'].get.responses),
  },
  'OpenAPI that is invalid': {
    step: 'openapi',
    says: /no valid OpenAPI 3\.1; info: must have required property 'title'/,
    made: documented((d) => delete d.info.title),
  },
  'OpenAPI of another version': {
    step: 'openapi',
    says: /"openapi" must be 3\.1, for example "3\.1\.0", and is "3\.0\.3"/,
    made: documented((d) => (d.openapi = '3.0.3')),
  },
  'a page instead of its document': {
    step: 'openapi',
    says: /it is no JSON/,
    made: openapiAnswers("return new Response('<html>hello</html>')"),
  },
  'a redirect instead of its document': {
    step: 'openapi',
    says: /at \/openapi: it answered 302, and redirects are not followed/,
    made: openapiAnswers("return new Response(null, { status: 302, headers: { location: '/elsewhere' } })"),
  },
  'a document of 2 MiB': {
    step: 'openapi',
    says: /at \/openapi: it has more than 1 MiB/,
    made: openapiAnswers("return new Response('x'.repeat(2 * 1024 * 1024))"),
  },

  // Its tools
  'a tool that is none': {
    step: 'tools',
    says: /POST \/api\/notes\/echo: the body of a tool is required \("required": true\)/,
    made: documented((d) => (d.paths[ECHO].post.requestBody.required = false)),
  },
  'a dot in the name of a tool': {
    step: 'tools',
    says: /needs a name of A-Z, a-z, 0-9, _ and -; some models refuse tools with a dot/,
    made: documented((d) => (d.paths[ECHO].post['x-svc-mcp'].name = 'say.it')),
  },
  'a tool with a name that is too long': {
    step: 'tools',
    says: /has a name of more than 64 characters/,
    made: documented((d) => (d.paths[ECHO].post['x-svc-mcp'].name = 'e'.repeat(59))),
  },
  '129 tools': {
    step: 'tools',
    says: /it declares 129 tools, and at most 128 can be offered/,
    made: documented((d) => {
      for (let n = 1; n < 129; n++)
        d.paths[`${ECHO}/${n}`] = {
          post: { ...d.paths[ECHO].post, operationId: `echo_${n}`, 'x-svc-mcp': { name: `echo_${n}` } },
        };
    }),
  },
  'two tools of one name': {
    step: 'tools',
    says: /the tool "echo" is declared twice/,
    made: documented((d) => (d.paths[`${ECHO}/more`] = { post: { ...d.paths[ECHO].post, operationId: 'more' } })),
  },

  // Its code
  'a digest that is not what was pinned': {
    step: 'digest',
    says: /not what was pinned \(pinned sha256:0{64}, found sha256:[0-9a-f]{64}\); install it again, or pin what is there/,
    made: {},
    entry: { digest: `sha256:${'0'.repeat(64)}` },
  },
  'a module that throws when it is loaded': {
    step: 'start',
    says: /Cannot start "notes": it throws when it is loaded: Error: no luck today/,
    made: { top: "throw new Error('no luck today');" },
  },
  'a module that ends its process when it is loaded': {
    step: 'start',
    says: /Cannot start "notes": it ended with code 7/,
    made: { top: 'process.exit(7);' },
  },
  'a module without fetch': {
    step: 'start',
    says: /Cannot start "notes": its default export has no function fetch/,
    made: { module: 'export default {};' },
  },
};

/** Refused by what the database says, so they are tried on both. */
const BY_THE_DATABASE: Record<string, Mutant> = {
  'a view that there is not': {
    step: 'depends',
    says: /there is no view svc_v1\.dreams/,
    made: { manifest: { depends: { views: ['dreams'] } } },
    entry: { grants: { views: ['dreams'] } },
  },
  'a migration that makes a function': {
    step: 'migrate',
    says: /0001_more: line 2: CREATE FUNCTION is not for cassettes/,
    made: {
      manifest: { bindings: { db: true } },
      migrations: [
        {
          name: '0001_more',
          sql: `create table rows (n int);\ncreate function f() returns int language sql as 'select 1'`,
        },
      ],
    },
    entry: dbGranted,
  },
  'a migration that fails': {
    step: 'migrate',
    says: /0001_more: .*"?nowhere"?/,
    made: {
      manifest: { bindings: { db: true } },
      migrations: [{ name: '0001_more', sql: 'create table rows (n int references nowhere)' }],
    },
    entry: dbGranted,
  },
};

/** These are waited for, so they are tried side by side, by a host that does not wait for long. */
const LATE: Record<string, Pick<Mutant, 'step' | 'says' | 'made'>> = {
  'hangs-at-load': {
    step: 'start',
    says: /Cannot start "hangs-at-load": it has not loaded within 4 s/,
    made: { top: 'await new Promise((resolve) => setTimeout(resolve, 60_000));' },
  },
  'loops-at-load': {
    step: 'start',
    says: /Cannot start "loops-at-load": it has not loaded within 4 s/,
    made: { top: 'for (;;);' },
  },
  'slow-document': {
    step: 'openapi',
    says: /at \/openapi: it took longer than 4 s/,
    made: openapiAnswers(`return new Response(new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(new TextEncoder().encode(' '));
      },
    }))`),
  },
  'no-document': {
    step: 'openapi',
    says: /at \/openapi: it took longer than 4 s/,
    made: openapiAnswers('return new Promise(() => {})'),
  },
  'never-healthy': {
    step: 'health',
    says: /it is not healthy at \/ping \(it answered 503\)/,
    made: { before: "if (path === '/ping') return json('not yet', 503);" },
  },
  'never-says-so': {
    step: 'health',
    says: /it is not healthy at \/ping \(no answer within 0\.5 s\)/,
    made: { before: "if (path === '/ping') return new Promise(() => {});" },
  },
};
/** What somebody else runs; null: nobody is there. */
const REMOTE: Record<string, Omit<Mutant, 'made'> & { state: AdmissionState; answer: RequestListener | null }> = {
  'an address where nobody listens': {
    answer: null,
    state: 'unresolved',
    step: 'resolve',
    says: /Cannot get its OpenAPI document at \/openapi: .*ECONNREFUSED/,
  },
  'an address that leads elsewhere': {
    answer: (_, answer) => void answer.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    state: 'unresolved',
    step: 'resolve',
    says: /at \/openapi: it answered 302, and redirects are not followed/,
  },
  'an address whose document is not what was pinned': {
    answer: (_, answer) => void answer.end(JSON.stringify(openapiOf('notes', cassetteManifest('notes')))),
    entry: { digest: `sha256:${'0'.repeat(64)}` },
    state: 'rejected',
    step: 'digest',
    says: /not what was pinned/,
  },
  "an address that wants the caller's credentials": {
    answer: (_, answer) =>
      void answer.end(
        JSON.stringify(openapiOf('notes', cassetteManifest('notes', { bindings: { forward_auth: true } }))),
      ),
    state: 'rejected',
    step: 'grants',
    says: /the binding "forward_auth"/,
  },
  'an address to be run here': {
    answer: (_, answer) => void answer.end(),
    entry: { isolation: 'inline' },
    state: 'unresolved',
    step: 'resolve',
    says: /Cannot run an address inline: .* its isolation is "remote"/,
  },
};

const HURRIED: AdmissionTimeouts = {
  loadMs: 4_000,
  documentMs: 4_000,
  health: { tries: 3, eachMs: 500, betweenMs: 20 },
};

/** A server on this machine, for the time of `use`. */
async function withServer(answer: RequestListener | null, use: (origin: string) => Promise<void>): Promise<void> {
  const server = createServer(answer ?? undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  if (!answer) await close();
  await use(`http://127.0.0.1:${port}`).finally(close);
}

/** Each is tried beside a good one, which is in before the first comes and must still be after the last. */
function tried(
  test: Test,
  database: () => TestDatabase,
  mutants: Record<string, Mutant>,
  { others = false }: { others?: boolean } = {},
) {
  const folders: string[] = [];
  const hosts: CassetteHost[] = [];
  let databases: CassetteDatabases;
  let tmp = '';
  let on: CassetteHost;
  let good: ListEntry;

  const made = async (cassette: Made): Promise<string> => {
    const folder = await cassetteFolder(cassette);
    folders.push(folder);
    return folder;
  };
  const open = (timeouts?: AdmissionTimeouts): CassetteHost => {
    const opened = openHost({
      installed: '/nowhere',
      databases,
      core: null,
      environment: {},
      tmp,
      log: openLog('silent'),
      now: Date.now,
      retryMs: { first: 600_000, most: 600_000 }, // one look at each is what is asked about
      ...(timeouts ? { timeouts } : {}),
    });
    hosts.push(opened);
    return opened;
  };
  const apply = (host: CassetteHost, ...entries: ListEntry[]) =>
    host.apply({ entries, loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: () => '/' });
  /** Beside the good one. */
  const lookedAt = async (host: CassetteHost, ...entries: ListEntry[]): Promise<Installed[]> => {
    await apply(host, good, ...entries);
    await everySourceTried(host);
    return host.installed().filter(({ entry }) => entry.name !== good.name);
  };
  const refusedAs = (
    one: Installed | undefined,
    { state, step, says }: { state: AdmissionState; step: AdmissionStep; says: RegExp },
  ) => {
    const { reason = '', problems = [] } = one?.trouble ?? {};
    assert.equal([one?.state, one?.trouble?.step], [state, step], reason);
    assert.match([reason, ...problems].join('\n'), says);
    assert.ok(reason.length < 1000 && !reason.includes('hunter2'), reason);
    assert.is(one?.admitted_at, null);
  };
  /** It has never left, it answers, and it reads what it may. */
  const stillIn = async (host: CassetteHost) => {
    const one = host.installed().find(({ entry }) => entry.name === good.name);
    assert.equal(
      [one?.state, one?.trouble, one?.liveness],
      ['admitted', null, { state: 'up', reason: null, restarts: 0 }],
    );
    const response = await host.answer(good.name, {
      request: new Request(
        `http://localhost/v1/cassettes/good/rows?sql=${encodeURIComponent('select count(*) as n from mine')}`,
      ),
      caller: null,
      requestId: '0195f6d0-0000-7000-8000-000000000000',
      peer: null,
    });
    assert.equal(await response.json(), { rows: [{ n: 0 }], row_count: 1 });
  };

  test.before(async () => {
    databases = cassettesOf(database());
    tmp = await mkdtemp(join(tmpdir(), 'svc-mutants-'));
    const source = await made({
      name: 'good',
      manifest: { bindings: { db: true }, depends: { views: ['sessions'] } },
      migrations: [{ name: '0001_mine', sql: 'create table mine (n int)' }],
    });
    good = entry('good', source, { grants: { bindings: ['db'], views: ['sessions'] } });
    on = open();
  });
  test.after(async () => void (await Promise.all([...folders, tmp].map(removeCassetteFolder))));

  for (const [what, { step, says, made: cassette, entry: more }] of Object.entries(mutants))
    test(`${what} is refused at the step ${step}, and the good one stays`, async () => {
      const source = await made(cassette);
      const [one] = await lookedAt(on, entry('notes', source, more));
      refusedAs(one, { state: 'rejected', step, says });
      await stillIn(on);
    });

  test('one that is not there is unresolved, and the good one stays', async () => {
    const [one] = await lookedAt(on, entry('notes', '/nowhere/at/all'));
    refusedAs(one, { state: 'unresolved', step: 'resolve', says: /there is no '\/nowhere\/at\/all'/ });
    await stillIn(on);
  });

  if (others)
    for (const [what, { answer, state, step, says, entry: more }] of Object.entries(REMOTE))
      test(`${what} is ${state} at the step ${step}, and the good one stays`, () =>
        withServer(answer, async (origin) => {
          const [one] = await lookedAt(on, entry('notes', `${origin}/openapi`, more));
          refusedAs(one, { state, step, says });
          await stillIn(on);
        }));

  if (others)
    test('what takes too long to load, to hand out its document or to be well is refused, and the good one stays', async () => {
      const entries = await Promise.all(
        Object.entries(LATE).map(async ([name, { made: cassette }]) => entry(name, await made({ ...cassette, name }))),
      );
      const hurried = open(HURRIED);
      await apply(hurried, ...entries);
      await everySourceTried(hurried);
      for (const one of hurried.installed()) refusedAs(one, { state: 'rejected', ...(LATE[one.entry.name] as Mutant) });
      await stillIn(on);
    });

  test('in the end the good one leaves, and nothing of any is left in the database', async () => {
    await Promise.all(hosts.map((host) => host.close(0)));
    const schemas = () =>
      database().sql(`select nspname from pg_namespace where nspname like 'cassette\\_%' order by 1`);
    assert.ok((await schemas()).length > 0);
    for (const { nspname } of await schemas()) await databases.remove(String(nspname).replace('cassette_', ''));
    assert.equal(await schemas(), []);
    await databases.close();
  });
}

databaseSuite('mutants that the database refuses', (test, database) => tried(test, database, BY_THE_DATABASE));

const embedded = suite('mutants');
let database: TestDatabase;
embedded.before(async () => {
  database = await embeddedDatabase();
});
tried(embedded, () => database, MUTANTS, { others: true });
embedded.after(() => database.close());

for (const [what, change, says] of [
  [
    'two entries of one name',
    (list: Json) => list.cassettes.push(list.cassettes[0]),
    /line 1, column \d+: 'notes' stands in this list twice; take one away, or give it another name/,
  ],
  ['a reserved name', (list: Json) => (list.cassettes[0].name = 'svc-notes'), /cassettes\[0\]\.name is reserved/],
] as const)
  embedded(`a list with ${what} is not used, and says where`, () => {
    const list = { cassettes: [{ name: 'notes', source: './notes' }] };
    change(list);
    const ours = { file: '/ours.json', text: '{"cassettes":[]}' };
    const read = () => readLists({ ours, users: { file: '/theirs.json', text: JSON.stringify(list) } });
    assert.throws(read, (error: Error) => error instanceof BadList && says.test(error.message));
  });

embedded.run();
