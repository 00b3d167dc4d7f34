/** The words that may follow each command, read from the program itself: what a script for a shell's completion is made of. */
import type { Argument, Command, Option } from 'commander';
import { keys } from '../../../config/keys.ts';
import { completeOptions } from '../../options.ts';

export type CompletionWord = { word: string; description: string };

/** `isFile`: a path is completed; else only `words` are. */
export type Value = { words: readonly string[]; isFile: boolean };

export type CompletedOption = {
  long: string; // --json
  short: string | null;
  description: string;
  /** null: it takes none. */
  value: (Value & { isRequired: boolean }) | null;
};

export type CompletedCommand = {
  /** `svc config set` */
  path: string;
  commands: CompletionWord[];
  options: CompletedOption[];
  /** In order; the last one stands for all that follow where `isVariadic`. */
  arguments: Value[];
  isVariadic: boolean;
};

/** All commands that help shows, the program itself first. */
export function commandTree(command: Command, above = ''): CompletedCommand[] {
  const path = above === '' ? command.name() : `${above} ${command.name()}`;
  completeOptions(command);
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const found: CompletedCommand = {
    path,
    commands: below.map((each) => ({ word: each.name(), description: firstSentence(each.description()) })),
    options: help.visibleOptions(command).flatMap(completedOption),
    arguments: command.registeredArguments.map((argument) => argumentValue(argument, command)),
    isVariadic: command.registeredArguments.at(-1)?.variadic === true,
  };
  return [found, ...below.flatMap((each) => commandTree(each, path))];
}

/** The values of a setting that has a choice of them, by its key. */
export const choicesOfKeys: ReadonlyMap<string, readonly string[]> = new Map(
  keys.flatMap(({ path, type, choices }) =>
    type === 'choice' ? [[path, choices]] : type === 'boolean' ? [[path, ['true', 'false']]] : [],
  ),
);

function completedOption({
  long,
  short,
  description,
  flags,
  required,
  optional,
  argChoices,
}: Option): CompletedOption[] {
  if (!long) return [];
  const placeholder = flags.slice(flags.search(/[<[]/) + 1, -1); // what stands last, as in `--api-web-ui [true|false]`
  const words = argChoices ?? (placeholder.includes('|') ? placeholder.split('|') : []);
  const value = required || optional ? { words, isFile: PATH.test(placeholder), isRequired: required } : null;
  return [{ long, short: short ?? null, description: firstSentence(description), value }];
}

const PATH = /file|folder|path/;

/** Arguments with these names take these words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  key: keys.map(({ path }) => path),
  section: [...new Set(keys.flatMap(({ path }) => (path.includes('.') ? [path.slice(0, path.indexOf('.'))] : [])))],
};

function argumentValue(argument: Argument, command: Command): Value {
  const name = argument.name();
  if (command.name() === 'help' && command.parent) {
    const explained = command.createHelp().visibleCommands(command.parent);
    return { words: explained.map((each) => each.name()), isFile: false };
  }
  return { words: argument.argChoices ?? WORDS[name] ?? [], isFile: PATH.test(name) || name === 'what' };
}

/** Short enough for a list, and without what a shell could take for a part of its script. */
function firstSentence(text: string): string {
  const [first = ''] = text.split(/[;\n[]|\. /); // a bracket begins the default
  return first.replace(/[\p{Cc}'"`$\\]/gu, '').trim();
}
