/** The house: each room may import the rooms above it in this list, and never one below. (core/README.md, 'The house'.) */
const rooms = [
  '^core/parse-json\\.ts$',
  '^core/redaction/',
  '^core/worker-bootstrap\\.mjs$',
  '^core/(aborted|built-entry|collect-garbage|collect-when-idle|errors|log|log-output|lru-cache|package-root|retry|semaphore|service-flags|start-worker|tls-code|yield-to-listeners)\\.ts$',
  '^core/model/',
  '^core/merkle/',
  '^core/provider/',
  '^core/(counter-sums|metrics)\\.ts$',
  '^core/telemetry/',
  '^core/config/',
  '^core/harness/',
  '^core/price/',
  '^core/capture/',
  '^core/call/',
  '^core/prompt/',
  '^core/derive/',
  '^core/find/',
  '^core/db/',
  '^core/publish/',
  '^core/engine/',
  '^core/demo/',
  '^core/http/',
  '^core/cassette/',
  '^core/api/',
  '^core/web/',
  '^(proxy|ingest)/',
  '^core/cli/',
  '^core/(build|deploy)/',
];

const upwards = rooms.map((room, i) => ({
  name: `nothing-below-${room.replace(/[^a-z]+/g, '-').replace(/^-|-$/g, '')}`,
  comment: 'Imports point up the list of rooms and never back',
  severity: 'error',
  from: { path: room },
  to: { path: rooms.slice(i + 1).concat(room === '^core/cli/' ? [] : '^cassettes/') }, // the command line knows the built-in ones
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...upwards,
    {
      name: 'listeners-never-meet',
      severity: 'error',
      from: { path: '^proxy/' },
      to: { path: '^(ingest|cassettes)/' },
    },
    { name: 'ingest-alone', severity: 'error', from: { path: '^ingest/' }, to: { path: '^(proxy|cassettes)/' } },
    {
      name: 'cassettes-see-only-the-contract',
      severity: 'error',
      from: { path: '^cassettes/([^/]+)/' },
      to: {
        path: '^(core|proxy|ingest|cassettes)/',
        pathNot: ['^core/cassette/contract\\.ts$', '^core/parse-json\\.ts$', '^core/http/', '^cassettes/$1/'],
      },
    },
    {
      name: 'client-sees-only-types',
      comment: 'What runs in the browser knows the shapes of the API, and takes no code of the service along',
      severity: 'error',
      from: { path: '^core/web/client/' },
      to: { path: '^(core|proxy|ingest|cassettes)/', pathNot: '^core/web/client/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-only-in-browsers',
      severity: 'error',
      from: { pathNot: ['^core/web/client/', '^test/'] },
      to: { path: '^core/web/client/' },
    },
    { name: 'product-never-sees-tests', severity: 'error', from: { pathNot: '^test/' }, to: { path: '^test/' } },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, dependencyTypesNot: ['type-only'] } },
    {
      name: 'no-dev-packages',
      comment:
        'What runs in a clone alone may: the bootstrap of worker threads from source, what builds and what packs the tarball; and the client, whose packages the bundle contains',
      severity: 'error',
      from: { pathNot: ['^test/', '^core/worker-bootstrap\\.mjs$', '^core/(build|deploy)/', '^core/web/client/'] },
      to: { dependencyTypes: ['npm-dev'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^core/cassette/scaffold/' }, // what `svc cassette new` writes stands on its own
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'],
    },
  },
};
