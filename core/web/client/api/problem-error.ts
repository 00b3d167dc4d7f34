/** A request that failed, with what the service says of it. */
import type { Problem } from '../../../model/problem.ts';

export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** 0: the service was not reached. */
  readonly status: number;
  /** A stable word for the reason. */
  readonly code: string;
  /** Under which the log of the service has more; '': it never got there. */
  readonly requestId: string;

  constructor(status: number, code: string, message: string, requestId: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** The error of a response that is none of the 200s. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? '';
  const body = await response.json().catch(() => null);
  if (isProblem(body)) return new ProblemError(status, body.code, body.detail, body.request_id ?? requestId);
  return new ProblemError(status, `http-${status}`, `The service answered with status ${status}`, requestId);
}

const isProblem = (body: unknown): body is Pick<Problem, 'code' | 'detail'> & Partial<Problem> =>
  typeof body === 'object' &&
  body !== null &&
  'code' in body &&
  typeof body.code === 'string' &&
  'detail' in body &&
  typeof body.detail === 'string';
