/** Whether svc starts with an environment: an unknown variable with its prefix keeps it from starting. */
import { keys } from '../../core/config/keys.ts';
import { foreignVariable } from '../../core/config/variables.ts';

/** The names of those that begin with `SVC_` and that svc does not know. */
export const unknownVariables = (names: readonly string[]): string[] =>
  names.filter(
    (name) => name.startsWith('SVC_') && !foreignVariable(name, '') && !keys.some(({ env }) => env === name),
  );
