/** A source as it is shown: without credentials that an address may hold. */
import { redactUrl } from '../redaction/url.ts';

export function shownSource(source: string): string {
  if (!/^https?:\/\//i.test(source) || !URL.canParse(source)) return redactUrl(source);
  const { origin, pathname, search } = new URL(source);
  return `${origin}${pathname}${search === '' ? '' : '?[redacted]'}`;
}
