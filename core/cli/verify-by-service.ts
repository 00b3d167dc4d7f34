/** Lets the service that has the embedded database open verify it. */
import type { SessionVerified } from '../engine/verify/verify-session.ts';
import { OperatorError } from '../errors.ts';
import { isObject } from '../parse-json.ts';
import type { ApiClient } from './api-client.ts';
import { linesOf } from './lines-of.ts';

/** @throws {OperatorError} the service refuses, or does not finish */
export async function* verifiedByService(
  client: ApiClient,
  { session, head }: { session: string | null; head: string | null },
): AsyncGenerator<SessionVerified, void> {
  const what = 'verify the turns';
  const query = new URLSearchParams({ ...(session && { session_id: session }), ...(head && { head }) });
  let isWhole = false;
  try {
    for await (const line of linesOf(await client.response({ path: `/v1/admin/verify?${query}`, what }))) {
      if (!isObject(line)) continue;
      if (line.end === true) isWhole = true;
      else if ('session_id' in line) yield line as SessionVerified;
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
  }
  if (!isWhole) throw new OperatorError(`Cannot ${what}: the service cut the connection; its log says why`);
}
