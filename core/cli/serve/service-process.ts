/** The entry of the process behind the proxy: database, engine, APIs and cassettes. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {}); // the parent's affair
process.title = 'svc: service';

const { runUnderParent } = await import('./parent-link.ts');
runUnderParent(
  async (start, link) => {
    const isEmbedded = start.role === 'all' && start.loaded.config.storage.postgres_dsn === '';
    // it loads for as long as all else does
    const startThread = isEmbedded && (await import('../../db/client/database-thread.ts')).startDatabaseThreadEarly();
    await import('@hono/zod-openapi'); // before what it extends zod for: among bundled files nothing else makes it the first
    const { runService } = await import('./run-service.ts');
    return runService(start, link, startThread || undefined);
  },
  { finishes: true },
);
