/** A process that starts the cassette of its arguments (folder, file, tmp, path), requests that path once, and stays. */
import { join } from 'node:path';
import { startProcess } from '../../core/cassette/isolation/process.ts';
import { recordedLog } from './started-cassette.ts';

const [folder = '', file = '', tmp = '', path = ''] = process.argv.slice(2);
const { log } = recordedLog();
const bindingsFor = () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log });
const module = { name: 'held', folder, entry: join(folder, file), network: false, log, bindingsFor };
const running = await startProcess(module, { tmp });
running.fetch(new Request(`http://localhost${path}`)).catch(() => {});
console.log('started');
