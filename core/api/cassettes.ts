/** GET /v1/cassettes and /v1/cassettes/{name}/openapi.json: the installed cassettes, and the contract of each. */
import { createRoute, z } from '@hono/zod-openapi';
import { cassetteUnknown } from '../cassette/cassette-unknown.ts';
import type { Installed } from '../cassette/installed.ts';
import type { OpenApi } from '../cassette/openapi/openapi-shape.ts';
import { mountOf } from '../cassette/openapi/rewrite.ts';
import { Refusal } from '../errors.ts';
import {
  Contract,
  documentResponse,
  ETag,
  IfNoneMatch,
  type ServedDocument,
  servedDocument,
} from '../http/document.ts';
import { Failure, guardFailures, json, routes } from '../http/routes.ts';
import { type CassetteInfo, CassetteList } from '../model/cassette.ts';

const NEVER_ADMITTED = 'Cannot read the contract of the cassette: it was never in, and GET /v1/cassettes says why';

const listCassettes = createRoute({
  method: 'get',
  path: '/v1/cassettes',
  operationId: 'listCassettes',
  tags: ['cassettes'],
  summary: 'Cassettes that are installed: what each is and may do, and why some are not in',
  responses: { 200: json(CassetteList, 'The cassettes, by name'), ...guardFailures },
});

const readCassetteContract = createRoute({
  method: 'get',
  path: '/v1/cassettes/{name}/openapi.json',
  operationId: 'readCassetteContract',
  tags: ['cassettes'],
  summary: 'The contract of one cassette, with the paths under which it is mounted; its last good one while it is away',
  request: {
    params: z.object({
      name: z
        .string()
        .openapi({ examples: ['search'] })
        .describe('as it is installed'),
    }),
    headers: IfNoneMatch,
  },
  responses: {
    200: { ...json(Contract, 'The contract'), headers: ETag },
    304: { description: 'The caller has it already', headers: ETag },
    404: json(Failure, 'No such cassette', [
      'cassette-unknown',
      'Cannot find the cassette: none is installed under that name',
    ]),
    ...guardFailures,
    503: json(Failure, 'It was never in, so that there is no contract of it yet', [
      'cassette-unavailable',
      NEVER_ADMITTED,
    ]),
  },
});

/** @param installed called for each request */
export const cassettesApp = ({ installed }: { installed: () => readonly Installed[] }) => {
  const rendered = new WeakMap<OpenApi, ServedDocument>();
  const app = routes().openapi(listCassettes, (c) => c.json(shownList(installed()), 200));
  app.openAPIRegistry.registerPath(readCassetteContract); // the handler is a plain one, which sends text that was made once
  return app.get('/v1/cassettes/:name/openapi.json', (c) => {
    const name = c.req.param('name');
    const found = installed().find(({ entry }) => entry.name === name);
    if (!found) throw cassetteUnknown();
    if (!found.document) throw new Refusal('cassette-unavailable', NEVER_ADMITTED);
    const { document } = found.document;
    const text = rendered.get(document) ?? servedDocument(document);
    rendered.set(document, text);
    return documentResponse(c, text);
  });
};

const byText = (one: string, other: string) => (one < other ? -1 : 1);

export const shownList = (installed: readonly Installed[]): CassetteList => ({
  contract_version: 'v1',
  cassettes: installed.map(shownCassette).sort((one, other) => byText(one.name, other.name)),
  problems: installed
    .flatMap(({ entry, trouble }) =>
      trouble ? [{ subject: entry.name, ...trouble, problems: [...trouble.problems] }] : [],
    )
    .sort((one, other) => byText(one.subject, other.subject)),
});

function shownCassette(one: Installed): CassetteInfo {
  const { entry, state, since, admitted_at, isolation, confinement, liveness, document, last_run, progress } = one;
  const isAdmitted = state === 'admitted' || state === 'stale';
  return {
    name: entry.name,
    state,
    since,
    ...(admitted_at === null ? {} : { admitted_at }),
    required: entry.required,
    isolation,
    ...(confinement === null
      ? {}
      : {
          confinement: {
            level: confinement.level,
            stops: [...confinement.stops],
            does_not_stop: [...confinement.does_not_stop],
          },
        }),
    ...(liveness === null ? {} : { liveness: { state: liveness.state, restarts: liveness.restarts } }),
    route_prefix: mountOf(entry.name),
    openapi_path: `${mountOf(entry.name)}/openapi.json`,
    openapi_status: document === null ? 'missing' : state === 'admitted' ? 'fresh' : 'stale',
    ...(document === null ? {} : declared(entry.name, document.manifest)),
    ...(last_run === null
      ? {}
      : {
          last_run: {
            scheduled_at: last_run.scheduled_at,
            ...(last_run.ended_at === null ? {} : { ended_at: last_run.ended_at }),
            ...(last_run.error === null ? {} : { error: last_run.error }),
          },
        }),
    ...(progress === null ? {} : { progress }),
    tools: isAdmitted && document ? document.tools.map(({ full_name, title }) => ({ name: full_name, title })) : [],
    ...(isAdmitted && document ? offers(document) : {}),
    ...(document === null
      ? {}
      : { manifest_digest: document.manifest_digest, openapi_digest: document.openapi_digest }),
    ...(one.source_digest === null ? {} : { source_digest: one.source_digest }),
  };
}

/** Absent where there are none. */
const offers = ({ resources, prompts }: NonNullable<Installed['document']>) => ({
  ...(resources.length > 0 && {
    resources: resources.map(({ uri, full_name, title }) => ({ uri, name: full_name, title })),
  }),
  ...(prompts.length > 0 && {
    prompts: prompts.map(({ full_name, title, list }) => ({ name: list ? `${full_name}…` : full_name, title })),
  }),
});

type Declared = NonNullable<Installed['document']>['manifest'];

function declared(name: string, { cassette, depends, bindings, tables, config, schedule }: Declared) {
  const { name: _, ...about } = cassette; // its own name is used in its own paths only
  const schema = `cassette_${name.replaceAll('-', '_')}`;
  return {
    ...present(about),
    version: cassette.version,
    depends: { core: depends.core, views: [...depends.views].sort(), extensions: [...depends.extensions].sort() },
    bindings: (['db', 'core', 'network', 'forward_auth'] as const).filter((binding) => bindings[binding]),
    tables: tables.map((table) => `${schema}.${table.name}`).sort(),
    config: config
      .map(({ key, type, required = false, secret = false, default: value, ...bounds }) => ({
        key,
        type,
        required,
        secret,
        ...(secret || value === undefined ? {} : { default: value }),
        ...present(bounds),
      }))
      .sort((one, other) => byText(one.key, other.key)),
    ...(schedule ? { schedule } : {}),
  };
}

type Present<Members> = { [Key in keyof Members]?: Exclude<Members[Key], undefined> };

const present = <Members extends object>(members: Members): Present<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Members>;
