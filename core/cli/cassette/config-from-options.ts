/** The settings that a command gives a cassette: `--config key=value`, each parsed as the manifest declares it. */

import type { DeclaredManifest } from '../../cassette/admission/manifest.ts';
import { settingProblem, valueOfText } from '../../cassette/admission/setting-value.ts';
import { nearest } from '../../config/nearest.ts';
import { OperatorError } from '../../errors.ts';
import { variableOf } from './permission-page.ts';

/** The settings as the list has them. @throws {OperatorError} 2: no such setting, a secret, or no value of its type; no value is repeated */
export function configFromOptions(
  { config }: Pick<DeclaredManifest, 'config'>,
  pairs: readonly string[],
  name: string,
): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair): [string, unknown] => {
      const [, key = pair, text] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
      const refused = (why: string) => new OperatorError(`Cannot set '${key.slice(0, 100)}' of ${name}: ${why}`, 2);
      const setting = config.find((one) => one.key === key);
      if (!setting) {
        const known = config.map((one) => one.key);
        const suggestion = nearest(key, known);
        throw refused(
          `it has no such setting; ${suggestion ? `did you mean '${suggestion}'?` : known.length > 0 ? `there are ${known.join(', ')}` : 'it has none at all'}`,
        );
      }
      if (setting.secret)
        throw refused(`it is a secret, and the list is no place for one; set ${variableOf(name, key)} where svc runs`);
      if (text === undefined) throw refused(`write --config ${key}=<value>`);
      const value = valueOfText(setting, text);
      const problem = settingProblem(setting, value);
      if (problem) throw refused(`it ${problem}`);
      return [key, value];
    }),
  );
}
