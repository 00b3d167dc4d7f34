/** Export of sessions, one line of JSON each. Without a database it is admitted all the same, and answers 501. */
import type { Cassette } from '../../core/cassette/contract.ts';
import { manifest } from './manifest.ts';
import { exportApp, HOLD_BYTES } from './routes.ts';

const app = exportApp({ now: Date.now, holdBytes: HOLD_BYTES });

export default { manifest, fetch: (request, env) => app.fetch(request, env) } satisfies Cassette;
