/** Suggestions for misspelt names: the nearest known one. */

/**
 * The known name that `name` most likely stands for, or null. A name without its section counts as near when one fits.
 * @example
 * nearest('listn', ['listen', 'provider']); // => 'listen'
 * nearest('colour', ['listen', 'provider']); // => null
 */
export function nearest(name: string, known: readonly string[]): string | null {
  const ending = name.length < 4 ? [] : known.filter((one) => one.endsWith(name));
  if (ending.length === 1) return ending[0] ?? null;
  const limit = Math.max(1, Math.min(3, Math.floor(name.length / 3)));
  const [best] = known
    .map((one) => ({ one, distance: distance(name.toLowerCase(), one.toLowerCase()) }))
    .filter((candidate) => candidate.distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return best?.one ?? null;
}

/** Edit distance: letters to insert, delete, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const at = (line: number[], index: number) => line[index] ?? Number.POSITIVE_INFINITY;
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min(at(above, j) + 1, at(row, j - 1) + 1, at(above, j - 1) + (same ? 0 : 1), swapped);
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? 0;
}
