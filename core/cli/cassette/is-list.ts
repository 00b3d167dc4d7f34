/** Tells whether a body is the list of cassettes of the read API. */
import type { CassetteList } from '../../model/cassette.ts';

/** Checks only the members that the page reads. The schema itself would load half of the server. */
export const isCassetteList = (body: unknown): body is CassetteList => {
  const { cassettes, problems } = (body ?? {}) as Partial<Record<keyof CassetteList, unknown>>;
  const hasText = (one: unknown, key: string) => typeof (one as Record<string, unknown> | null)?.[key] === 'string';
  return (
    Array.isArray(cassettes) &&
    cassettes.every((one) => ['name', 'state', 'since', 'isolation'].every((key) => hasText(one, key))) &&
    Array.isArray(problems) &&
    problems.every((one) => hasText(one, 'subject') && hasText(one, 'reason'))
  );
};
