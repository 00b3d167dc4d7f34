/** Reads of the core: the binding answers what any reader of the service may see, and nothing of other cassettes. */
import type { Env } from '../../core/cassette/contract.ts';
import type { SearchConfig } from './manifest.ts';
import { SearchOff } from './relations.ts';

/** The core did not answer as it should. */
export class CoreFailed extends Error {
  override readonly name = 'CoreFailed';
}

/** @throws {SearchOff} the core cannot be asked @throws {CoreFailed} */
export async function readCore(
  { CORE }: Env<SearchConfig>,
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<unknown> {
  if (!CORE) throw new SearchOff('the read API of the service cannot be asked');
  const set = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const response = await CORE.fetch(`${path}?${new URLSearchParams(set)}`);
  if (!response.ok) {
    await response.body?.cancel();
    throw new CoreFailed(`the core answered ${response.status} to ${path}`);
  }
  return response.json();
}
