/** The branches of `case` statements that bash and zsh share: what completes the value of an option, and an argument. */
import { type CompletedCommand, choicesOfKeys, type Value } from './command-tree.ts';

/** The shell's command that completes a value. */
export type CompleteValue = (value: Value) => string;

/** What follows an option that takes a value; where it may be left out, anything else may follow as well. */
export const optionBranches = (tree: readonly CompletedCommand[], complete: CompleteValue): string =>
  branchesText(
    tree.flatMap(({ path, options }) =>
      options.flatMap(({ long, short, value }) => {
        if (value === null || (!value.isRequired && value.words.length === 0)) return [];
        const patterns = [long, short].flatMap((flag) => (flag === null ? [] : [`'${path} ${flag}'`]));
        return [`${patterns.join(' | ')}) ${complete(value)}; return ;;`];
      }),
    ),
  );

export const argumentBranches = (tree: readonly CompletedCommand[], complete: CompleteValue): string =>
  branchesText(tree.flatMap((command) => argumentsOf(command, complete)));

function argumentsOf({ path, arguments: all, isVariadic }: CompletedCommand, complete: CompleteValue): string[] {
  const keyed = path === 'svc config set' ? [...choicesOfKeys] : [];
  return [
    ...keyed.map(([key, words]) => `'${path} 1 ${key}') ${complete({ words, isFile: false })} ;;`),
    ...all.flatMap((value, index) => {
      if (!value.isFile && value.words.length === 0) return [];
      const count = isVariadic && index === all.length - 1 ? '' : `${index} `;
      return [`'${path} ${count}'*) ${complete(value)} ;;`];
    }),
  ];
}

/** Branches within a function. */
export const branchesText = (branches: readonly string[]): string => branches.map((line) => `    ${line}`).join('\n');
