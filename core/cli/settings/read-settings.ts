/** `svc config list`, `get` and `path`: which settings are in effect, and where they come from. */
import pc from 'picocolors';
import { keys } from '../../config/keys.ts';
import { configFile, folderInEffect, knownKey, type LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { literalOf, type ShownSetting, shownSettings } from './shown-settings.ts';
import { fileToWrite } from './which-file.ts';

type ListOptions = { section: string | null; changedOnly: boolean; json: boolean };

/** @throws {OperatorError} there is no such section */
export function listSettings(loaded: LoadedConfig, { section, changedOnly, json }: ListOptions, io: Io): void {
  const settings = shownSettings(loaded)
    .filter(({ key }) => section === null || key === section || key.startsWith(`${section}.`))
    .filter((setting) => !changedOnly || isChanged(setting));
  if (section !== null && !keys.some(({ path }) => path.startsWith(`${section}.`))) knownKey(section);
  if (json) {
    printJson({ file: loaded.file, folder: loaded.folder, settings }, io);
    return;
  }
  const rows = settings.map((setting) => ({ setting, literal: literalOf(setting) }));
  const keyWidth = Math.max(0, ...rows.map(({ setting }) => setting.key.length));
  const valueWidth = Math.min(40, Math.max(0, ...rows.map(({ literal }) => literal.length)));
  for (const { setting, literal } of rows) {
    const value = literal.padEnd(valueWidth);
    const line = `${setting.key.padEnd(keyWidth)}  ${isChanged(setting) ? pc.bold(value) : value}  `;
    io.out(`${line}${pc.dim(setting.from ?? 'default')}\n`);
  }
}

const isChanged = (setting: ShownSetting) => JSON.stringify(setting.value) !== JSON.stringify(setting.default);

type GetOptions = { isRevealed: boolean; json: boolean };

/** The value alone, one line for each item of a list; of a secret `[redacted]`, unless it is to be shown. @throws {OperatorError} no such key */
export function getSetting(path: string, loaded: LoadedConfig, { isRevealed, json }: GetOptions, io: Io): void {
  const { path: key } = knownKey(path);
  const setting = shownSettings(loaded, isRevealed).find((each) => each.key === key);
  if (!setting) throw new OperatorError(`Cannot get '${path}': there is no such setting`, 2);
  if (json) printJson(setting, io);
  else {
    const { value } = setting;
    const lines = typeof value === 'object' ? (value ?? []) : [String(value)];
    io.out(lines.map((line) => `${line}\n`).join(''));
  }
}

/** The file in effect; without one, the path of the one that `svc config set` would make. Does not read it: it may be broken. */
export function printPath(isHome: boolean, { json }: { json: boolean }, { out, err, cwd, home }: Io): void {
  const { path, exists } = fileToWrite({ cwd, home }, isHome);
  const folder = folderInEffect(cwd, home);
  if (json) out(`${JSON.stringify({ file: configFile(cwd, home), written: path, exists, folder }, null, 2)}\n`);
  else {
    out(`${path}\n`);
    if (!exists) err("There is no such file yet; 'svc init' or 'svc config set' makes it\n");
  }
}
