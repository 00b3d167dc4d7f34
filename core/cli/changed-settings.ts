/** Which settings are not at their defaults, and who says so? */
import { keys, redacted, valueAt } from '../config/keys.ts';
import type { LoadedConfig } from '../config/load.ts';

/** `from`: the flag, variable or file that says so. */
export type ChangedSetting = { key: string; value: unknown; from: string };

/** Secrets as [redacted]. */
export function changedSettings({ config, source, file }: LoadedConfig): ChangedSetting[] {
  const shown = redacted(config);
  return keys
    .filter((key) => JSON.stringify(valueAt(config, key.path)) !== JSON.stringify(key.default))
    .map(({ path, flag, env }) => {
      const from = { flag, environment: env, file, default: null }[source[path] ?? 'default'];
      return { key: path, value: valueAt(shown, path), from: from ?? '' };
    });
}
