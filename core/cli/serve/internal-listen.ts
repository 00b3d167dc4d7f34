/** The internal listener's address and token. Only the environment sets them; without a token there is no such listener. */
import type { Environment } from '../../config/environment.ts';
import { type ListenAddress, listenProblem, parseListen } from '../../config/listen.ts';
import { OperatorError } from '../../errors.ts';

/** null: it is not configured. @throws {OperatorError} it has no token, or its address is invalid */
export function internalOf(env: Environment): { at: ListenAddress; token: string } | null {
  const { SVC_INTERNAL_LISTEN: listen = '', SVC_INTERNAL_TOKEN: token = '' } = env;
  if (listen === '') return null;
  const problem = listenProblem(listen);
  if (problem) throw new OperatorError(`Cannot start: SVC_INTERNAL_LISTEN ${problem}`, 2);
  if (token === '')
    throw new OperatorError(
      'Cannot start: SVC_INTERNAL_LISTEN is set and SVC_INTERNAL_TOKEN is not; who reads the evidence must show a token',
      2,
    );
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new OperatorError('Cannot start: SVC_INTERNAL_TOKEN must be printable ASCII without spaces', 2);
  return { at: parseListen(listen), token };
}
