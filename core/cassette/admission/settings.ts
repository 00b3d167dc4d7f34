/** The settings that a cassette runs with: from the environment, the list and its manifest's defaults, in this order of precedence. */
import { nearest } from '../../config/nearest.ts';
import { type DeclaredManifest, environmentName } from './manifest.ts';
import { rejection } from './rejection.ts';
import { configValue, type DeclaredSetting, settingProblem, valueOfText } from './setting-value.ts';

/** Texts by the last part of their variable's name: `MODEL_NAME` of `SVC_CASSETTE_SEARCH_MODEL_NAME`. */
export type EnvironmentSettings = Readonly<Record<string, string>>;

const prefixOf = (installed: string) => `SVC_CASSETTE_${installed.toUpperCase().replaceAll('-', '_')}_`;

/**
 * The variables for the installation of that name. An empty one counts as not set.
 * @param others names of all installed cassettes: `SVC_CASSETTE_MY_NOTES_KEY` is for `my-notes` where there is one, and
 * nothing that `my` could read by declaring `notes_key`
 */
export function settingsFromEnvironment(
  installed: string,
  environment: Readonly<Record<string, string | undefined>>,
  others: readonly string[],
): EnvironmentSettings {
  const prefix = prefixOf(installed);
  const longer = others.map(prefixOf).filter((other) => other !== prefix && other.startsWith(prefix));
  const isFor = (name: string) => name.startsWith(prefix) && !longer.some((other) => name.startsWith(other));
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, text]) =>
      isFor(name) && text !== undefined && text !== '' ? [[name.slice(prefix.length), text]] : [],
    ),
  );
}

/**
 * The values for `CONFIG`, by their keys, durations in milliseconds. A key of the list that is not declared is a typo, so it is
 * refused; a variable that is not declared may belong to another cassette.
 * @param configured `config` of the list's entry
 * @param installed for the names of variables in messages
 * @throws {Rejection} config, naming each key that is missing or wrong, never its value
 */
export function readSettings(
  { config, cassette }: Pick<DeclaredManifest, 'config' | 'cassette'>,
  configured: Readonly<Record<string, unknown>>,
  environment: EnvironmentSettings = {},
  installed: string = cassette.name,
): Record<string, unknown> {
  const variable = (key: string) => `${prefixOf(installed)}${environmentName(key)}`;
  const known = config.map(({ key }) => key);
  const problems = Object.keys(configured)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const suggestion = nearest(key, known);
      return `"${key.slice(0, 100)}" is none of its settings${suggestion ? `; did you mean "${suggestion}"?` : ''}`;
    });
  const values = config.flatMap((setting): [string, unknown][] => {
    const { key, secret = false, required = false } = setting;
    const found = foundValue(setting, configured, environment);
    if (!found) {
      const where = secret ? variable(key) : `it in the list's "config", or ${variable(key)}`;
      if (required) problems.push(`"${key}" is missing: set ${where}`);
      return [];
    }
    const problem = settingProblem(setting, found.value);
    if (!problem) return [[key, configValue(setting, found.value)]];
    problems.push(`"${key}" ${problem}${found.fromEnvironment ? ` (it stands in ${variable(key)})` : ''}`);
    return [];
  });
  if (problems.length > 0) throw rejection('config', 'Cannot start it with these settings', problems);
  return Object.fromEntries(values);
}

function foundValue(
  setting: DeclaredSetting,
  configured: Readonly<Record<string, unknown>>,
  environment: EnvironmentSettings,
): { value: unknown; fromEnvironment: boolean } | null {
  const { key } = setting;
  const text = environment[environmentName(key)];
  if (text !== undefined) return { value: valueOfText(setting, text), fromEnvironment: true };
  if (Object.hasOwn(configured, key)) return { value: configured[key], fromEnvironment: false };
  return setting.default === undefined ? null : { value: setting.default, fromEnvironment: false };
}
