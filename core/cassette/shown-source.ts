/** How is a source shown? Without what an address may hold of a credential. */

export function shownSource(source: string): string {
  if (!/^https?:\/\//i.test(source) || !URL.canParse(source)) return source;
  const { origin, pathname, search } = new URL(source);
  return `${origin}${pathname}${search === '' ? '' : '?[redacted]'}`;
}
