/** The argument of a tool call by which a person recognises it: its command, its file, what it looks for. */
import { isObject } from '../parse-json.ts';

/** Names of arguments in the tools of all harnesses, those that say most first. */
const MAIN_ARGUMENTS = [
  ...[
    'command',
    'cmd',
    'commands',
    'file_path',
    'filePath',
    'absolute_path',
    'notebook_path',
    'pattern',
    'url',
    'query',
  ],
  ...['prompt', 'path'],
];

/** The text of that argument, else the first text in the input; '' where it has none. */
export function mainArgument(input: unknown): string {
  if (isObject(input))
    for (const name of MAIN_ARGUMENTS) {
      const text = wordsOf(Object.hasOwn(input, name) ? input[name] : undefined);
      if (text !== '') return text;
    }
  return firstText(input);
}

/** A text, or a command line that is an array of words. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  if (!Array.isArray(value)) return '';
  return value
    .filter((word) => typeof word === 'string')
    .join(' ')
    .trim();
}

/** How deep an input is searched: what a model sent may be nested to any depth. */
const DEEPEST = 8;

function firstText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.trim();
  if (depth === DEEPEST || value === null || typeof value !== 'object') return '';
  for (const member of Object.values(value)) {
    const text = firstText(member, depth + 1);
    if (text !== '') return text;
  }
  return '';
}
