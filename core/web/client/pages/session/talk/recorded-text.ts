/** Recorded values as text. */

/** As indented JSON; null: it is nested too deeply to be written. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value, null, 2) ?? 'null';
  } catch {
    return null;
  }
}
