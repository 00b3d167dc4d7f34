/** Is this the list of cassettes that the read API gives? */
import type { CassetteList } from '../../model/cassette.ts';

/** What the page walks through. The schema itself would bring half of the server along. */
export const isCassetteList = (body: unknown): body is CassetteList => {
  const { cassettes, problems } = (body ?? {}) as Partial<Record<keyof CassetteList, unknown>>;
  const named = (one: unknown, key: string) => typeof (one as Record<string, unknown> | null)?.[key] === 'string';
  return (
    Array.isArray(cassettes) &&
    cassettes.every((one) => ['name', 'state', 'since', 'isolation'].every((key) => named(one, key))) &&
    Array.isArray(problems) &&
    problems.every((one) => named(one, 'subject') && named(one, 'reason'))
  );
};
