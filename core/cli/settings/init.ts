/** `svc init`: makes a configuration file in which every setting is explained, in a folder that git leaves alone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf } from '../../config/keys.ts';
import { configFile, problemsOfFile } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { withSetting } from './edit-toml.ts';
import { PRESETS, type Preset } from './presets.ts';
import { writeSettings } from './settings-file.ts';
import { configTemplate } from './template.ts';

type InitOptions = { presets: readonly string[]; isHome: boolean; force: boolean; json: boolean };

/** @throws {OperatorError} status 2: no such preset; 1: there is a file already, or it cannot be written */
export function initSettings({ presets: names, isHome, force, json }: InitOptions, io: Io): void {
  const presets = names.map(presetOf);
  const file = join(isHome ? io.home : io.cwd, '.svc', 'config.toml');
  if (existsSync(file) && !force)
    throw new OperatorError(
      `Cannot write '${file}': it is there already; 'svc config set' changes a setting of it, --force writes it anew`,
    );
  const before = configFile(io.cwd, io.home);
  const text = textWith(presets);
  const problems = problemsOfFile(text, file);
  if (problems.length > 0) throw new OperatorError(`Cannot start with ${names.join(', ')}: ${problems.join('; ')}`, 2);
  writeSettings(file, text, presets.some(hasSecret), io);
  if (json) io.out(`${JSON.stringify({ file, presets: names }, null, 2)}\n`);
  else io.out(`Wrote ${file}\n`);
  if (before !== null && before !== file && !isHome)
    io.err(`Here it counts from now on, and ${before} no longer does\n`);
  for (const { next } of presets) if (next !== undefined) io.err(`${next}\n`);
  if (!presets.some(({ next }) => next !== undefined)) io.err("'svc serve' starts the service\n");
}

function presetOf(name: string): Preset {
  const found = PRESETS.find((preset) => preset.name === name);
  if (found) return found;
  const known = PRESETS.map((preset) => preset.name);
  const near = nearest(name, known);
  const hint = near ? `did you mean '${near}'?` : `only ${known.map((one) => `'${one}'`).join(', ')}`;
  throw new OperatorError(`Cannot start with '${name}': there is no such preset; ${hint}`, 2);
}

const hasSecret = ({ settings }: Preset): boolean => Object.keys(settings()).some((path) => keyOf(path)?.secret);

function textWith(presets: readonly Preset[]): string {
  let text = configTemplate();
  for (const { settings } of presets)
    for (const [path, value] of Object.entries(settings())) {
      const changed = withSetting(text, path, value);
      if (changed === null) throw new Error(`Cannot put ${path} into the template`);
      text = changed;
    }
  return text;
}
