/** Words that an argument or option takes, shown by help and completed by a shell; the command itself says what is wrong with others. */
import { Argument, Option } from 'commander';

export function choiceArgument(name: string, description: string, words: readonly string[]): Argument {
  const argument = new Argument(name, description);
  argument.argChoices = [...words];
  return argument;
}

export function choiceOption(flags: string, description: string, words: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...words];
  return option;
}
