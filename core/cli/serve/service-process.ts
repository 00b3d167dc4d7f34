/** The entry of the process behind the proxy: database, engine, APIs and cassettes. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {}); // the parent's affair
process.title = 'svc: service';

const [{ runUnderParent }, { runService }] = await Promise.all([
  import('./parent-link.ts'),
  import('./run-service.ts'),
]);
runUnderParent(runService, { finishes: true });
