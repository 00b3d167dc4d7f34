/**
 * Gives the process of a test `gc`, which the service has from its command line (core/service-flags.ts). To be imported before a worker thread
 * is started: V8's flags are those of all threads.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

if (!globalThis.gc) {
  setFlagsFromString('--expose-gc');
  globalThis.gc = runInNewContext('gc') as typeof gc; // the context of the test is older than the flag
}
