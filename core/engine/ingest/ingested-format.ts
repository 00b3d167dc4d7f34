/** The format of an ingested call and the URL it was sent to: from its path, else from what its request looks like. */
import { FormatId, formatById, formatOf } from '../../provider/formats.ts';
import type { Fields } from '../../provider/json.ts';
import type { ProviderId } from '../../provider/provider-ids.ts';
import { providerById } from '../../provider/providers.ts';
import { redactUrl } from '../../redaction/url.ts';

/** A path counts only if the provider serves its format. */
export function ingestedFormat(provider: ProviderId, method: string, path: unknown, request: Fields): FormatId {
  const { formats, alsoServes, formatOf: usualFormat } = providerById(provider);
  const format = formatOf(method, originForm(path).replace(/[?#].*/s, ''));
  if (format && [...formats, ...alsoServes].some(({ id }) => id === format.id)) return format.id;
  return FormatId.parse(usualFormat(request).id);
}

const MAX_URL = 2048;
/** Longer than any request line: the rest is cut off, since searching it for keys could take hours. */
const MAX_PATH = 16_384;

/** A path as its sender stated it, without the keys in its query. */
export const redactedPath = (path: string): string => redactUrl(path.slice(0, MAX_PATH));

/** Path and query as they may be stored; without a path, the usual one of the format. */
export const ingestedUrl = (path: unknown, format: FormatId | null): string =>
  redactedPath(originForm(path)).slice(0, MAX_URL) || (format ? formatById(format).usualPath : '/');

/** Without scheme and host; '' for what is no path that a request line can have. */
function originForm(path: unknown): string {
  const target = typeof path === 'string' ? path.replace(/^https?:\/\/[^/?#]*/i, '') : '';
  return /^\/[\x21-\x7e]*$/.test(target) ? target : '';
}
