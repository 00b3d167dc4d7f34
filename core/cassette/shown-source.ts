/** How is a source shown? Without what an address may hold of a credential. */
import { redactUrl } from '../redaction/url.ts';

export function shownSource(source: string): string {
  if (!/^https?:\/\//i.test(source) || !URL.canParse(source)) return redactUrl(source);
  const { origin, pathname, search } = new URL(source);
  return `${origin}${pathname}${search === '' ? '' : '?[redacted]'}`;
}
