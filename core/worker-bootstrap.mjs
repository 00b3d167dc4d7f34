/** Runs a worker thread's TypeScript from source: registers tsx, then imports the entry named by the first argument. */
import { register } from 'tsx/esm/api';

register();
await import(process.argv[2]);
