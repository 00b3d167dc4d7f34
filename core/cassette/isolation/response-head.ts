/** Checks the head of a cassette's response, in one place for every isolation: what a `Response` cannot have is refused here. */

export type CassetteResponseHead = {
  status: number;
  headers: Headers;
  /** The response has no body, whatever was sent. */
  empty: boolean;
};

/** The head cannot be passed on. The message ends a sentence: `its answer has the status 999`. */
export class UnusableHead extends Error {
  override readonly name = 'UnusableHead';
}

const EMPTY = [204, 205, 304];

/**
 * @param method of the request
 * @param headers as they came, names in any case
 * @throws {UnusableHead}
 */
export function responseHead(
  method: string,
  status: number,
  headers: Iterable<readonly [name: string, value: string]>,
): CassetteResponseHead {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new UnusableHead(`its answer has the status ${status}`);
  const checked = new Headers();
  try {
    for (const [name, value] of headers) checked.append(name, value);
  } catch (error) {
    throw new UnusableHead('its answer has a header that is none', { cause: error });
  }
  const length = checked.get('content-length');
  if (length !== null && !/^\d{1,15}$/.test(length)) throw new UnusableHead('its answer has a length that is none');
  return { status, headers: checked, empty: method === 'HEAD' || EMPTY.includes(status) };
}
