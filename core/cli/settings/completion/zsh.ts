/** The completion of `svc` for zsh, with what each word means. */
import { argumentBranches, branchesText, optionBranches } from './case-branches.ts';
import type { CompletedCommand, CompletionWord, Value } from './command-tree.ts';

export function zshScript(tree: readonly CompletedCommand[]): string {
  return `#compdef svc
# Completion of svc for zsh. In ~/.zshrc, after compinit: source <(svc completion zsh)
_svc() {
  local path_=svc word first='' index=2 count=0
  local -a commands options valued
  _svc_words "$path_"
  while (( index < CURRENT )); do
    word="\${words[index]}"
    if [[ "$word" == -- ]]; then _files; return; fi
    if [[ "$word" == -* ]]; then
      if (( \${valued[(Ie)$word]} )); then (( index++ )); fi
    elif (( \${commands[(I)\${word}:*]} )); then
      path_="$path_ $word"
      _svc_words "$path_"
    else
      if (( count == 0 )); then first="$word"; fi
      (( count++ ))
    fi
    (( index++ ))
  done
  case "$path_ \${words[CURRENT-1]}" in
${optionBranches(tree, reply)}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe -o option options; return; fi
  if (( \${#commands} )); then _describe command commands; return; fi
  case "$path_ $count $first" in
${argumentBranches(tree, reply)}
  esac
}
_svc_words() {
  commands=() options=() valued=()
  case "$1" in
${branchesText(tree.map(wordsCase))}
  esac
}
if [[ "\${funcstack[1]}" == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

const list = (words: readonly string[]): string => `(${words.map((word) => `'${word}'`).join(' ')})`;

/** In the form of _describe, which parts word and meaning by a colon. */
const described = ({ word, description }: CompletionWord) => `${word}:${description}`;

function wordsCase({ path, commands, options }: CompletedCommand): string {
  const flags = options.map(({ long, description }) => described({ word: long, description }));
  const valued = options.flatMap(({ long, short, value }) => (value?.isRequired ? [short, long] : []));
  return `'${path}') commands=${list(commands.map(described))} options=${list(flags)} valued=${list(valued.filter((flag) => flag !== null))} ;;`;
}

const reply = ({ words, isFile }: Value): string => {
  if (isFile) return '_files';
  return words.length === 0 ? "_message 'a value'" : `compadd -- ${words.map((word) => `'${word}'`).join(' ')}`;
};
