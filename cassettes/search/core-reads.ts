/** Reads of the core: the binding answers what any reader of the service may see, and nothing of other cassettes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../../core/cassette/contract.ts';
import type { SearchConfig } from './manifest.ts';
import { SearchOff } from './relations.ts';

/** The core did not answer as it should. */
export class CoreFailed extends Error {
  override readonly name = 'CoreFailed';
}

/** The core cannot read for this now: others read whole payloads, or it has no database. */
export class CoreBusy extends Error {
  override readonly name = 'CoreBusy';
}

/** The core itself lets a read wait for two seconds before it refuses. */
const ATTEMPTS = 2;
/** As the core's `Retry-After` has it. */
const RETRY_MS = 1_000;

/** A read for which there was no room is repeated. @throws {SearchOff} the core cannot be asked @throws {CoreBusy | CoreFailed} */
export async function readCore(
  { CORE }: Env<SearchConfig>,
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<unknown> {
  if (!CORE) throw new SearchOff('the read API of the service cannot be asked');
  const set = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  for (let attempt = 1; ; attempt++) {
    const response = await CORE.fetch(`${path}?${new URLSearchParams(set)}`);
    if (response.ok) return response.json();
    const why = `the core answered ${response.status} to ${path}`;
    const { code } = (await response.json().catch(() => ({}))) as { code?: unknown };
    if (response.status !== 503) throw new CoreFailed(why);
    if (code !== 'too-many-payload-reads' || attempt === ATTEMPTS) throw new CoreBusy(why);
    await sleep(RETRY_MS);
  }
}
