/** The completion of `svc` for zsh, with what each word means. */
import { type CompletedCommand, type CompletionWord, choicesOfKeys, type Value } from './command-tree.ts';

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
${casesOf(tree.flatMap(optionCases))}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe -o option options; return; fi
  if (( \${#commands} )); then _describe command commands; return; fi
  case "$path_ $count $first" in
${casesOf(tree.flatMap(argumentCases))}
  esac
}
_svc_words() {
  commands=() options=() valued=()
  case "$1" in
${casesOf(tree.map(wordsCase))}
  esac
}
if [[ "\${funcstack[1]}" == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

const casesOf = (cases: readonly string[]): string => cases.map((line) => `    ${line}`).join('\n');

const list = (words: readonly string[]): string => `(${words.map((word) => `'${word}'`).join(' ')})`;

/** In the form of _describe, which parts word and meaning by a colon. */
const described = ({ word, description }: CompletionWord) => `${word}:${description}`;

function wordsCase({ path, commands, options }: CompletedCommand): string {
  const flags = options.map(({ long, description }) => described({ word: long, description }));
  const valued = options.flatMap(({ long, short, value }) => (value?.isRequired ? [short, long] : []));
  return `'${path}') commands=${list(commands.map(described))} options=${list(flags)} valued=${list(valued.filter((flag) => flag !== null))} ;;`;
}

const optionCases = ({ path, options }: CompletedCommand): string[] =>
  options.flatMap(({ long, short, value }) => {
    if (value === null || (!value.isRequired && value.words.length === 0)) return [];
    const patterns = [long, short].flatMap((flag) => (flag === null ? [] : [`'${path} ${flag}'`]));
    return [`${patterns.join(' | ')}) ${reply(value)}; return ;;`];
  });

function argumentCases({ path, arguments: all, isVariadic }: CompletedCommand): string[] {
  const keyed = path === 'svc config set' ? [...choicesOfKeys] : [];
  return [
    ...keyed.map(([key, words]) => `'${path} 1 ${key}') ${reply({ words, isFile: false })} ;;`),
    ...all.flatMap((value, index) => {
      if (!value.isFile && value.words.length === 0) return [];
      const count = isVariadic && index === all.length - 1 ? '' : `${index} `;
      return [`'${path} ${count}'*) ${reply(value)} ;;`];
    }),
  ];
}

const reply = ({ words, isFile }: Value): string => {
  if (isFile) return '_files';
  return words.length === 0 ? "_message 'a value'" : `compadd -- ${words.map((word) => `'${word}'`).join(' ')}`;
};
