/** Recorded values as text. */

/** As indented JSON; null: it is nested too deeply to be written. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value, null, 2) ?? 'null';
  } catch {
    return null;
  }
}

/** The texts within a value, in their order: what can be found in it, as the service finds it. */
export function textsIn(value: unknown): string[] {
  const found: string[] = [];
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') found.push(next);
    else if (typeof next === 'object' && next !== null) rest.push(...Object.values(next).slice(0, 10_000).reverse());
  }
  return found;
}
