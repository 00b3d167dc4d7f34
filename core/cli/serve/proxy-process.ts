/** The entry of the process that forwards calls and keeps copies of them. Nothing else is loaded in it, so that nothing else can end it. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {}); // the parent's affair
process.title = 'svc: capture proxy';

const [{ runUnderParent }, { runProxy }] = await Promise.all([import('./parent-link.ts'), import('./run-proxy.ts')]);
runUnderParent(runProxy, { finishes: false });
