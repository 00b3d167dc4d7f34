/** Parsed texts, those used last: a row that comes back into view is not parsed again. */
import type { TextRequest, TextTokens } from '../worker/tokens.ts';

const LONGEST = 20_000;

export function tokenCache(size: number) {
  const entries = new Map<string, TextTokens>();
  return {
    get(request: TextRequest): TextTokens | undefined {
      const key = keyOf(request);
      const found = key === null ? undefined : entries.get(key);
      if (key !== null && found) {
        entries.delete(key); // the newest is last
        entries.set(key, found);
      }
      return found;
    },
    set(request: TextRequest, tokens: TextTokens): void {
      const key = keyOf(request);
      if (key === null) return;
      entries.set(key, tokens);
      const [oldest] = entries.keys();
      if (entries.size > size && oldest !== undefined) entries.delete(oldest);
    },
  };
}

/** null: too long to be stored twice. */
function keyOf({ kind, text, language = '', before }: TextRequest): string | null {
  if (text.length + (before?.length ?? 0) > LONGEST) return null;
  return JSON.stringify([kind, language, before ?? null, text]);
}
