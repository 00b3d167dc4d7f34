/** The keys of Find: from one hit to the next; Enter opens it, since it is a link. */
import type { RefObject } from 'preact';
import { useKeys } from '../../keys.ts';

export function useFoundKeys(input: RefObject<HTMLInputElement | null>): void {
  const move = (step: 1 | -1) => {
    const hits = [...document.querySelectorAll<HTMLElement>('[data-found]')];
    const at = hits.indexOf(document.activeElement as HTMLElement);
    const next = hits[at < 0 ? (step > 0 ? 0 : -1) : at + step];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
    return next !== undefined;
  };
  useKeys(
    {
      '/': { does: 'to what is looked for', run: () => input.current?.select() },
      j: { does: 'next hit', run: () => move(1) },
      k: { does: 'hit before', run: () => move(-1) },
    },
    { scope: 'Find' },
  );
}
