/** `svc seed`: adds the demo's sessions to the service that runs. */
import type { LoadedConfig } from '../../config/load.ts';
import type { Seeded } from '../../model/demo.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { several } from '../units.ts';

export async function seed(loaded: LoadedConfig, { json }: { json: boolean }, io: Pick<Io, 'out'>): Promise<void> {
  const client = await openApiClient(loaded);
  const seeded = await client.json<Seeded>({
    method: 'POST',
    path: '/v1/admin/seed/demo',
    body: {},
    what: "add the demo's sessions",
    timeoutMs: 120_000,
  });
  const { sessions, raw_turns_inserted } = seeded;
  if (json) io.out(`${JSON.stringify(seeded)}\n`);
  else if (raw_turns_inserted === 0) io.out(`${several(sessions, 'session')} of the demo were there already\n`);
  else io.out(`Added ${several(sessions, 'session')} of the demo: ${client.address}\n`);
}
