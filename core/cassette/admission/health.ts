/** Health checks of a cassette: repeated a few times until one succeeds; else the reason that the cassette itself gives. */
import { aborted } from '../../aborted.ts';
import { PROBLEM_TYPE } from '../../http/problem.ts';
import { fetchUntil } from '../fetch-until.ts';
import { Rejection, type RunningCassette } from '../running.ts';
import { textOf } from './response-text.ts';

export type HealthRetries = { tries: number; eachMs: number; betweenMs: number };

const MOST_BYTES = 16_384;
const MOST_CHARACTERS = 300;

/** @param path one of the cassette's own, with query @throws {Rejection} health */
export async function untilHealthy(
  running: Pick<RunningCassette, 'fetch'>,
  path: string,
  { tries, eachMs, betweenMs }: HealthRetries,
  signal: AbortSignal,
): Promise<void> {
  let lastFailure = '';
  for (let left = tries; left > 0 && !signal.aborted; left--) {
    const failure = await failureOf(running, path, eachMs);
    if (failure === null) return;
    lastFailure = failure;
    if (left > 1) await new Promise((resolve) => setTimeout(resolve, betweenMs));
  }
  throw new Rejection('health', `Cannot take it: it is not healthy at ${path} (${lastFailure})`);
}

/** Why one check failed; null: it is healthy. */
async function failureOf(running: Pick<RunningCassette, 'fetch'>, path: string, ms: number): Promise<string | null> {
  const deadline = AbortSignal.timeout(ms);
  try {
    const response = await fetchUntil(running, path, { signal: deadline });
    if (response.ok || !response.headers.get('content-type')?.startsWith(PROBLEM_TYPE)) {
      await response.body?.cancel();
      return response.ok ? null : `it answered ${response.status}`;
    }
    const detail = await Promise.race([detailOf(response), aborted(deadline)]).catch(() => null);
    return `it answered ${response.status}${detail === null ? '' : `: ${detail}`}`;
  } catch (error) {
    if (deadline.aborted) return `no answer within ${ms / 1000} s`;
    return error instanceof Error ? error.message : 'it failed';
  }
}

/** The `detail` of a problem response, on one line; null: it has none. */
async function detailOf(response: Response): Promise<string | null> {
  const { detail } = (JSON.parse(await textOf(response, MOST_BYTES)) ?? {}) as { detail?: unknown };
  const line = typeof detail === 'string' ? detail.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim() : '';
  if (line === '') return null;
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS - 1)}…` : line;
}
