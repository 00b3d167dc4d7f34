/** What the groups of the web's bench stand on: a built service on a database that was filled beforehand, and a browser. */
import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { buildService } from '../support/built-service.ts';
import { embeddedDatabase, type TestDatabase } from '../support/databases.ts';
import { deriveAll } from '../support/derive-all.ts';
import { LARGE_SESSIONS, largeSession, spansIn } from '../support/large-session.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { testTranscripts, upload } from '../support/transcript-uploads.ts';
import { startChromium } from '../support/web.ts';

export type Ground = {
  /** The folder of the built service, and what Node runs of it. */
  built(): Promise<{ folder: string; program: string }>;
  /** Starts it on a database that `fill` fills. */
  start(name: string, fill: (database: TestDatabase) => Promise<void>, env?: Record<string, string>): Promise<Stand>;
  /** The one with the long sessions, and their ids. */
  longSessions(): Promise<Stand & { ids: Record<LongSession, string> }>;
  /** The one with the sessions of the demo. */
  demo(): Promise<Stand>;
  browser(): Promise<Browser>;
  close(): Promise<void>;
};

export type Stand = {
  /** By number, since the browser resolves no names. */
  base: string;
  proxy: string;
};

export type LongSession = keyof typeof LARGE_SESSIONS;

/** Each part is made when it is first wanted. */
export function openGround(): Ground {
  const undo: (() => Promise<unknown>)[] = [];
  const built = once(async () => {
    const folder = await emptyFolder();
    undo.unshift(() => removeFolder(folder));
    const at = join(folder, 'package');
    return { folder: at, program: await buildService(at) };
  });
  const start: Ground['start'] = async (name, fill, env = {}) => {
    const folder = await emptyFolder();
    undo.unshift(() => removeFolder(folder));
    await filled(name, join(folder, '.svc'), fill);
    const service = await startService(folder, { SVC_LOG_LEVEL: 'error', ...env }, [(await built()).program]);
    undo.unshift(() => service.stop());
    const base = service.api.replace('//localhost:', '//127.0.0.1:');
    await idle(base);
    return { base, proxy: service.proxy };
  };
  const longSessions = once(async () => {
    const stand = await start('long-sessions', putLongSessions);
    const { items } = await read<{ items: { id: string; harness_session_id: string }[] }>(`${stand.base}/v1/sessions`);
    const idOf = (name: string) => items.find(({ harness_session_id }) => harness_session_id === name)?.id ?? '';
    return { ...stand, ids: { L10: idOf('L10'), L1T: idOf('L1T'), L100: idOf('L100') } };
  });
  const demo = once(async () => {
    const stand = await start('demo', async () => {});
    const response = await fetch(`${stand.base}/v1/admin/seed/demo`, { method: 'POST' });
    if (response.status !== 200) throw new Error(`Cannot measure: ${await response.text()}`);
    await idle(stand.base);
    return stand;
  });
  const browser = once(async () => {
    const started = await startChromium();
    undo.unshift(() => started.close());
    return started;
  });
  const close = async () => {
    for (const step of undo.splice(0)) await step();
  };
  return { built, start, longSessions, demo, browser, close };
}

async function putLongSessions(database: TestDatabase): Promise<void> {
  for (const [name, size] of Object.entries(LARGE_SESSIONS)) {
    const began = performance.now();
    await upload(testTranscripts(database), ...largeSession(size, name));
    await deriveAll(database);
    console.log(`  ${name}, ${spansIn(size)} spans: stored in ${Math.round((performance.now() - began) / 1000)} s`);
  }
}

/** Fills a database in the folder, or takes the copy that an earlier run left in SVC_BENCH_DATABASES. */
async function filled(name: string, folder: string, fill: (database: TestDatabase) => Promise<void>): Promise<void> {
  const copies = process.env.SVC_BENCH_DATABASES ?? '';
  const copy = join(copies, name);
  await mkdir(folder, { recursive: true });
  if (copies !== '' && existsSync(copy)) {
    await cp(copy, join(folder, 'data'), { recursive: true });
    return;
  }
  const database = await embeddedDatabase({ folder, statementTimeoutMs: 600_000 });
  await fill(database).finally(() => database.close());
  if (copies !== '') await cp(join(folder, 'data'), copy, { recursive: true });
}

/** A service that has just started has things to look after; they are not what is measured. */
async function idle(base: string): Promise<void> {
  type Status = { derive: { queued: number } };
  await eventually(
    'nothing to derive',
    async () => (await read<Status>(`${base}/v1/admin/status`)).derive.queued === 0,
    600_000,
  );
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
