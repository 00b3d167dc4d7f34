/** Writes the package as one file that npm installs without a registry: laid out, and packed as npm packs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import { stagePackage } from './stage-package.ts';

/** @param level of gzip: 1 is quick, 9 small @param file where it is written */
export async function writeTarball(from: { root: string; dist: string }, file: string, level: number): Promise<void> {
  const staged = await mkdtemp(join(tmpdir(), 'svc-package-'));
  try {
    await stagePackage({ ...from, to: join(staged, 'package') });
    await create({ cwd: staged, file, gzip: { level }, portable: true, noMtime: true }, ['package']);
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}
