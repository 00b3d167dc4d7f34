/** The command-line options, one for each key of the configuration; their values stay text until they are checked. */
import { type Command, Option } from 'commander';
import { type ConfigKey, keys } from '../config/keys.ts';
import type { Flags } from '../config/load.ts';

const withSettings = new WeakSet<Command>();

/** Adds to `command` an option for every key, grouped by section in its help, once it is called: a dozen commands have all of them. */
export function addConfigOptions(command: Command): Command {
  withSettings.add(command);
  return command;
}

/** For a command that is called, or whose options are shown. */
export function completeOptions(command: Command): void {
  if (withSettings.delete(command)) for (const { made } of options()) command.addOption(made);
}

/** Adds to `command` the options of those keys that say where the running service is. @param more keys besides */
export function addClientOptions(command: Command, more: readonly string[] = []): Command {
  for (const key of keys)
    if (key.flag && [...CLIENT_KEYS, ...more].includes(key.path))
      command.addOption(option(key, key.flag).helpGroup('Service:'));
  return command;
}

const CLIENT_KEYS = ['client.api_target', 'api.token'];

/** The settings among what commander parsed. */
export function flagsOf(parsed: Record<string, unknown>): Flags {
  const flags: Record<string, string | true> = {};
  for (const { path, made } of options()) {
    const value = parsed[made.attributeName()];
    if (typeof value === 'string' || value === true) flags[path] = value;
  }
  return flags;
}

let all: { path: string; made: Option }[] | undefined; // made once: some six commands have every one

const options = () => {
  all ??= keys.flatMap((key) => (key.flag ? [{ path: key.path, made: option(key, key.flag) }] : []));
  return all;
};

function option(key: ConfigKey, flag: string): Option {
  const made = new Option(`${flag} ${placeholder(key)}`, described(key));
  const section = key.path.includes('.') ? key.path.slice(0, key.path.indexOf('.')) : 'general';
  if (key.choices.length > 0) made.argChoices = [...key.choices]; // the loader says what is wrong with others
  made.helpGroup(`Settings, ${section}:`);
  if (key.type === 'list')
    made.argParser((value, before: unknown) => (typeof before === 'string' ? `${before},${value}` : value));
  return made;
}

/** A flag without a value means true, so a boolean's value is optional. */
const placeholder = ({ type }: ConfigKey) => (type === 'boolean' ? '[true|false]' : `<${type}>`);

function described({ default: fallback, description }: ConfigKey): string {
  const shown = typeof fallback === 'string' ? `'${fallback}'` : String(fallback);
  const empty = fallback === undefined || fallback === '' || (Array.isArray(fallback) && fallback.length === 0);
  return description + (empty ? '' : ` [${shown}]`);
}
