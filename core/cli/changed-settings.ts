/** The settings that are not at their defaults, each with where its value comes from. */
import { keys, redacted, valueAt } from '../config/keys.ts';
import type { LoadedConfig } from '../config/load.ts';

/** `from`: the flag, variable or file that sets it. */
export type ChangedSetting = { key: string; value: unknown; from: string };

/** The changed settings, with secrets as [redacted]. */
export function changedSettings({ config, source, file }: LoadedConfig): ChangedSetting[] {
  const shown = redacted(config);
  return keys
    .filter((key) => JSON.stringify(valueAt(config, key.path)) !== JSON.stringify(key.default))
    .map(({ path, flag, env }) => {
      const from = { flag, environment: env, file, default: null }[source[path] ?? 'default'];
      return { key: path, value: valueAt(shown, path), from: from ?? '' };
    });
}
