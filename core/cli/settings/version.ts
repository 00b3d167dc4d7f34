/** `svc version`: what is installed and where, and, where that is wanted, whether there is a newer one. */
import { folderInEffect } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { packageRoot } from '../../package-root.ts';
import type { Io } from '../io.ts';
import { isNewer, type LatestVersion, latestVersion, packageName } from './latest-version.ts';
import { lastUpdateCheck } from './update-checks.ts';

type VersionOptions = { isChecked: boolean; json: boolean };

/** 1 when the newest version was to be found and was not, else 0: also where a newer one is out. */
export async function printVersion(version: string, { isChecked, json }: VersionOptions, io: Io): Promise<0 | 1> {
  const path = packageRoot();
  const name = packageName();
  const found = isChecked ? await latestVersion(io) : storedVersion(io);
  const latest = found && 'latest' in found ? found.latest : null;
  const problem = found && 'problem' in found ? found.problem : null;
  const is_newer_out = latest === null ? null : isNewer(version, latest);
  if (json) {
    const installed = { name, version, node: process.versions.node, path };
    io.out(`${JSON.stringify({ ...installed, latest, is_newer_out, problem }, null, 2)}\n`);
  } else io.out(`svc ${version}\nNode ${process.versions.node}\n${path}\n`);
  if (problem !== null) io.err(`Cannot find the newest version: ${problem}\n`);
  else if (is_newer_out) io.err(`svc ${latest} is out: npm install --global ${name}@${latest}\n`);
  else if (isChecked) io.err(`This is the newest version${latest === version ? '' : `; the registry has ${latest}`}\n`);
  return problem === null ? 0 : 1;
}

/** Of the last daily look of a service in this folder; null as well where the folder was deleted: the version has to be printed anywhere. */
function storedVersion(io: Io): LatestVersion | null {
  try {
    const last = lastUpdateCheck(folderInEffect(io.cwd, io.home));
    return last && { latest: last.latest };
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}
