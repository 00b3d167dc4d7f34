/** The tally of a transcript's records: how many were projected, and by kind how many were omitted. */

const KINDS = 64;
const LONGEST = 80;

export type Tally = { projected: number; omitted: Record<string, number> };

export const noTally = (): Tally => ({ projected: 0, omitted: {} });

/** Counts an omitted record. Kinds are untrusted text: they are cut, and their number is bounded. */
export function omit(tally: Tally, kind: string): void {
  const known = (label: string) => Object.hasOwn(tally.omitted, label);
  const cut = Buffer.from(kind.slice(0, LONGEST)).toString().replaceAll('\0', '') || 'unknown';
  const label = known(cut) || Object.keys(tally.omitted).length < KINDS ? cut : 'other';
  const count = known(label) ? (tally.omitted[label] ?? 0) : 0;
  Object.defineProperty(tally.omitted, label, {
    value: count + 1,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}
