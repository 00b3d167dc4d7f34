/** The completion of `svc` for bash, 3.2 and later, with or without the package bash-completion. */
import { argumentBranches, branchesText, optionBranches } from './case-branches.ts';
import type { CompletedCommand, Value } from './command-tree.ts';

export function bashScript(tree: readonly CompletedCommand[]): string {
  return `# Completion of svc for bash. In ~/.bashrc: eval "$(svc completion bash)"
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local path=svc word first='' index=1 count=0
  local commands options valued
  COMPREPLY=()
  _svc_words "$path"
  while [ "$index" -lt "$COMP_CWORD" ]; do
    word="\${COMP_WORDS[index]}"
    case "$word" in
      --) COMPREPLY=($(compgen -f -- "$current")); return ;;
      -*) case " $valued " in *" $word "*) index=$((index + 1)) ;; esac ;;
      *)
        case " $commands " in
          *" $word "*) path="$path $word"; _svc_words "$path" ;;
          *) if [ "$count" -eq 0 ]; then first="$word"; fi; count=$((count + 1)) ;;
        esac ;;
    esac
    index=$((index + 1))
  done
  case "$path $previous" in
${optionBranches(tree, reply)}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")); return ;;
  esac
  if [ -n "$commands" ]; then COMPREPLY=($(compgen -W "$commands" -- "$current")); return; fi
  case "$path $count $first" in
${argumentBranches(tree, reply)}
  esac
}
_svc_files() {
  if type compopt > /dev/null 2>&1; then compopt -o filenames 2> /dev/null; fi
  COMPREPLY=($(compgen -f -- "$1"))
}
_svc_words() {
  commands='' options='' valued=''
  case "$1" in
${branchesText(tree.map(wordsCase))}
  esac
}
complete -F _svc svc
`;
}

const list = (words: readonly (string | null)[]): string => `'${words.filter((word) => word !== null).join(' ')}'`;

function wordsCase({ path, commands, options }: CompletedCommand): string {
  const flags = options.flatMap(({ long, short }) => [short, long]);
  const valued = options.flatMap(({ long, short, value }) => (value?.isRequired ? [short, long] : []));
  return `'${path}') commands=${list(commands.map(({ word }) => word))} options=${list(flags)} valued=${list(valued)} ;;`;
}

const reply = ({ words, isFile }: Value): string =>
  isFile ? '_svc_files "$current"' : `COMPREPLY=($(compgen -W ${list(words)} -- "$current"))`;
