/**
 * Starts cassettes while this process has no file descriptor left, and once it has some again: a test runs this under a low
 * `ulimit -n`. Prints one line of JSON.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findSystemSupport } from '../../core/cassette/isolation/confinement.ts';
import { openSharedProcess } from '../../core/cassette/isolation/shared.ts';
import { openLog } from '../../core/log.ts';
import { eventually } from './eventually.ts';
import { exhaustFiles } from './exhaust-files.ts';
import { cassettes, emptyFolder, pidsOf, recordedLog, withCassette } from './started-cassette.ts';

const messageOf = (error: Error) => error.message;

/** Whether a probe succeeds without files, and what it finds with some again. */
async function probed() {
  const tmp = emptyFolder();
  const giveBack = exhaustFiles();
  const without = await findSystemSupport(tmp).catch(messageOf);
  giveBack();
  return { without, after: await findSystemSupport(tmp).catch(messageOf) };
}

/** A cassette that ends while there are no files: why it is not started again, the folders that are left, and its answer later. */
async function restarted() {
  const backOff = { fromMs: 10, toMs: 50, forgetMs: 60_000 };
  let result = {};
  await withCassette('friendly.mjs', { backOff }, async ({ running, ask, folder, tmp }) => {
    const pids = pidsOf(folder);
    const giveBack = exhaustFiles();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await eventually(() => running.liveness().restarts > 1);
    const { reason } = running.liveness();
    giveBack();
    await eventually(() => running.liveness().state === 'up');
    result = { reason, folders: readdirSync(tmp).length, answer: await (await ask('/ping')).text() };
  });
  return result;
}

async function shared() {
  const { log } = recordedLog();
  const entry = join(cassettes, 'friendly.mjs');
  const backOff = { fromMs: 10, toMs: 50, forgetMs: 60_000 };
  const all = openSharedProcess({ log: openLog('silent'), environment: process.env, backOff });
  const bindingsFor = () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log });
  const running = await all.start({ name: 'one', folder: dirname(entry), entry, network: true, log, bindingsFor });
  const ask = async () => (await running.fetch(new Request('http://cassette/pid'))).status;
  const giveBack = exhaustFiles();
  const reason = await ask().catch(messageOf);
  giveBack();
  const answer = await ask();
  await running.close(0);
  return { reason, answer };
}

console.log(JSON.stringify({ probed: await probed(), restarted: await restarted(), shared: await shared() }));
