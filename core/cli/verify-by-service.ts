/** Lets the service that has the embedded database open verify it. */
import type { LoadedConfig } from '../config/load.ts';
import { isMade } from '../db/client/data-folder.ts';
import type { SessionVerified } from '../engine/verify/verify-session.ts';
import { OperatorError } from '../errors.ts';
import { isObject } from '../parse-json.ts';
import { openApiClient } from './api-client.ts';
import { linesOf } from './lines-of.ts';
import type { VerifyOptions } from './verify.ts';

/** null: no service was named, and there is no database here for one to have. */
export async function verifiedByService(
  loaded: LoadedConfig,
  { session, head }: VerifyOptions,
): Promise<AsyncGenerator<SessionVerified, void> | null> {
  const isNamed = (loaded.source['client.api_target'] ?? 'default') !== 'default';
  if (!isNamed && !isMade(loaded.folder)) return null;
  const client = await openApiClient(loaded);
  const query = new URLSearchParams({ ...(session && { session_id: session }), ...(head && { head }) });
  const what = 'verify the turns';
  return (async function* () {
    let isWhole = false;
    try {
      for await (const line of linesOf(await client.response({ path: `/v1/admin/verify?${query}`, what }))) {
        if (isObject(line) && line.end === true) isWhole = true;
        else if (isObject(line) && 'session_id' in line) yield line as SessionVerified;
      }
    } catch (error) {
      if (error instanceof OperatorError) throw error;
    }
    if (!isWhole) throw new OperatorError(`Cannot ${what}: the service cut the connection; its log says why`);
  })();
}
