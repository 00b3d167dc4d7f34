/** The address of another lens of a session: what is looked for in it stays. */
import { lensPath } from './lenses.ts';

export function lensAddress(id: string, lens: string, query: URLSearchParams): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name === 'q' || name === 'in'));
  return `${lensPath(id, lens)}${kept.size > 0 ? `?${kept}` : ''}`;
}
