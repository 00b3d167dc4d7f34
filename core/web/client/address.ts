/** The address of what is looked at, without the prefix of a reverse proxy. */
import { useLocation } from 'preact-iso';
import { type Address, addressOf, patchedSearch, type QueryPatch } from './address-text.ts';
import { basePath, hrefOf } from './base.ts';

export type Navigation = Address & {
  setQuery(patch: QueryPatch, options?: { replace?: boolean }): void;
  /** @param path of one of our pages, with its query */
  go(path: string, options?: { replace?: boolean }): void;
};

export function useAddress(): Navigation {
  const { url, route } = useLocation();
  return {
    ...addressOf(url, basePath),
    setQuery: (patch, { replace = false } = {}) => {
      const { pathname, search } = location; // not `url`: an earlier change of the same moment counts
      const next = `${pathname}${patchedSearch(search, patch)}`;
      if (next !== pathname + search) route(next, replace);
    },
    go: (path, { replace = false } = {}) => route(hrefOf(path), replace),
  };
}
