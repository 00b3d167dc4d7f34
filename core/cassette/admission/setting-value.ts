/** The value of a setting: checked against its declaration, and converted. Values come from JSON, or as text from the environment. */

export type DeclaredSetting = {
  key: string;
  type: 'string' | 'int' | 'bool' | 'duration' | 'json';
  required?: boolean | undefined;
  secret?: boolean | undefined;
  description?: string | undefined;
  default?: unknown;
  enum?: string[] | undefined;
  min?: number | undefined;
  max?: number | undefined;
};

/** What would be valid, without repeating the value; null: it is valid. */
export function settingProblem(setting: DeclaredSetting, value: unknown): string | null {
  switch (setting.type) {
    case 'string': {
      const { enum: choices } = setting;
      if (typeof value !== 'string') return 'must be a text';
      return choices && !choices.includes(value)
        ? `must be one of ${choices.map((one) => JSON.stringify(one)).join(', ')}`
        : null;
    }
    case 'int': {
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = setting;
      if (!Number.isSafeInteger(value)) return 'must be a whole number';
      if ((value as number) < min) return `must be at least ${min}`;
      return (value as number) > max ? `must be at most ${max}` : null;
    }
    case 'bool':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'duration':
      return milliseconds(value) === null ? 'must be a duration such as "500ms", "30s", "15m", "6h" or "7d"' : null;
    case 'json':
      return value === undefined ? 'must be JSON' : null;
    default:
      return null; // an unknown type, which is reported elsewhere
  }
}

/** The value as `CONFIG` has it: a duration in milliseconds, the others as they are. */
export const configValue = ({ type }: DeclaredSetting, value: unknown): unknown =>
  type === 'duration' ? milliseconds(value) : value;

/** The value of a text from the environment; undefined when the text is not valid for the type. */
export function valueOfText({ type }: DeclaredSetting, text: string): unknown {
  const word = text.trim();
  switch (type) {
    case 'int':
      return /^[+-]?\d+$/.test(word) ? Number(word) : undefined;
    case 'bool':
      return ['true', '1', 'yes'].includes(word) ? true : ['false', '0', 'no'].includes(word) ? false : undefined;
    case 'json':
      try {
        return JSON.parse(text);
      } catch {
        return undefined;
      }
    default:
      return text;
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function milliseconds(value: unknown): number | null {
  const [, count, unit = ''] = typeof value === 'string' ? (/^(\d{1,15})(ms|s|m|h|d)$/.exec(value.trim()) ?? []) : [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  return Number.isSafeInteger(ms) ? ms : null;
}
