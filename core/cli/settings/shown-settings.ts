/** The settings as `svc config` shows them: each with its value, and what sets it. */
import { type ConfigKey, keys, redacted, valueAt } from '../../config/keys.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { type TomlValue, tomlLiteral } from './edit-toml.ts';

export type ShownSetting = {
  key: string;
  /** null: it has none. */
  value: TomlValue | null;
  source: 'flag' | 'environment' | 'file' | 'default';
  /** The variable or file that sets it; null: it is at its default. */
  from: string | null;
  default: ConfigKey['default'] | null;
  secret: boolean;
};

/** In the order of the schema. @param isRevealed secrets are shown as they are, and not as [redacted] */
export function shownSettings({ config, source, file }: LoadedConfig, isRevealed = false): ShownSetting[] {
  const shown = isRevealed ? config : redacted(config);
  return keys.map(({ path, flag, env, default: fallback, secret }) => {
    const kind = source[path] ?? 'default';
    const from = { flag, environment: env, file, default: null }[kind];
    const value = (valueAt(shown, path) ?? null) as TomlValue | null;
    return { key: path, value, source: kind, from, default: fallback ?? null, secret };
  });
}

/** As in the file, so that it can be pasted there. */
export const literalOf = ({ value, secret }: ShownSetting): string => {
  if (value === null) return 'not set';
  return secret && value === '[redacted]' ? value : tomlLiteral(value);
};
