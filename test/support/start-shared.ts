/** A process that has started the shared process of our own cassettes, prints its id, and waits to be killed. */
import { dirname, join } from 'node:path';
import { openSharedProcess } from '../../core/cassette/isolation/shared.ts';
import { openLog } from '../../core/log.ts';
import { cassettes, recordedLog } from './started-cassette.ts';

const { log } = recordedLog();
const entry = join(cassettes, 'friendly.mjs');
const shared = openSharedProcess({ log: openLog('silent'), environment: process.env });
const bindingsFor = () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log });
const running = await shared.start({ name: 'one', folder: dirname(entry), entry, network: true, log, bindingsFor });
await running.fetch(new Request('http://cassette/pid'));
console.log(shared.pid());
setInterval(() => {}, 1_000);
