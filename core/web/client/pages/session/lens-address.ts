/** The address of another lens of a session: what is looked for in it stays, and it may lead to a span. */
import { lensPath } from '../../address-text.ts';

export function lensAddress(id: string, lens: string, query: URLSearchParams, span = ''): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name === 'q' || name === 'in'));
  if (span !== '') kept.set('span', span);
  return `${lensPath(id, lens)}${kept.size > 0 ? `?${kept}` : ''}`;
}
