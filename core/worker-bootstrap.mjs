/** How does a worker thread run TypeScript from source? It registers tsx, then imports the entry named by its first argument. */
import { register } from 'tsx/esm/api';

register();
await import(process.argv[2]);
