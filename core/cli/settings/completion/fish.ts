/** The completion of `svc` for fish, with what each word means. */
import { type CompletedCommand, choicesOfKeys, type Value } from './command-tree.ts';

export function fishScript(tree: readonly CompletedCommand[]): string {
  const valued = tree.flatMap(({ path, options }) =>
    options.flatMap(({ long, short, value }) =>
      value?.isRequired ? [long, short].flatMap((flag) => (flag === null ? [] : [`'${path} ${flag}'`])) : [],
    ),
  );
  return `# Completion of svc for fish. In ~/.config/fish/config.fish: svc completion fish | source
set -g __svc_commands ${tree.map(({ path }) => `'${path}'`).join(' ')}
set -g __svc_valued ${valued.join(' ')}
# Prints the command that stands before the cursor, and below it each of its arguments.
function __svc_before
    set -l path svc
    set -l found
    set -l skips 0
    for word in (commandline -opc)[2..-1]
        if test $skips -eq 1
            set skips 0
        else if contains -- "$path $word" $__svc_valued
            set skips 1
        else if contains -- "$path $word" $__svc_commands
            set path "$path $word"
        else if not string match -q -- '-*' $word
            set -a found $word
        end
    end
    printf '%s\\n' $path $found
end
# Whether the cursor stands at argument $argv[2] of the command $argv[1], and, with a third word, whether that is the first argument.
function __svc_at
    set -l before (__svc_before)
    test "$before[1]" = "$argv[1]"; or return 1
    if set -q argv[2]; and test $argv[2] != any
        test (math (count $before) - 1) -eq $argv[2]; or return 1
    end
    if set -q argv[3]
        test "$before[2]" = "$argv[3]"; or return 1
    end
end
complete -c svc -f
${tree.flatMap(linesOf).join('\n')}
`;
}

function linesOf(command: CompletedCommand): string[] {
  const { path, commands, options, arguments: all, isVariadic } = command;
  const at = (...more: string[]) => `complete -c svc -n "__svc_at '${path}'${more.map((word) => ` ${word}`).join('')}"`;
  const keyed = path === 'svc config set' ? [...choicesOfKeys] : [];
  return [
    ...commands.map(({ word, description }) => `${at('0')} -a '${word}' -d '${description}'`),
    ...options.map(({ long, short, description, value }) => {
      const flags = `-l ${long.slice(2)}${short === null ? '' : ` -s ${short.slice(1)}`}`;
      return `${at()} ${flags}${value?.isRequired ? ` ${taken(value)}` : ''} -d '${description}'`;
    }),
    ...keyed.map(([key, words]) => `${at('1', key)} -a '${words.join(' ')}'`),
    ...all.flatMap((value, index) => {
      const count = isVariadic && index === all.length - 1 ? 'any' : String(index);
      if (value.isFile) return [`${at(count)} -F`];
      return value.words.length === 0 ? [] : [`${at(count)} -a '${value.words.join(' ')}'`];
    }),
  ];
}

const taken = ({ words, isFile }: Value): string => {
  if (isFile) return '-r -F';
  return words.length === 0 ? '-x' : `-x -a '${words.join(' ')}'`;
};
