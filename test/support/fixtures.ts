/** Data that was not written here. It lies outside the project; a test reports when it is absent. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of one family; null, with a printed skip, where the fixtures are absent. */
export function fixtureFolder(family: string): string | null {
  const folder = join(resolve(process.env.SVC_FIXTURES ?? '../shared/fixtures'), family);
  if (existsSync(folder)) return folder;
  console.log(`skip: ${family}: the fixtures are absent; SVC_FIXTURES says where they are`);
  return null;
}

/** The parsed cases of a family by file name, with the digest recomputed beside the one it ships. */
export function fixtureCases<Case>(folder: string): { cases: [string, Case][]; digest: string; expected: string } {
  const names = readdirSync(join(folder, 'cases'))
    .filter((name) => name.endsWith('.json'))
    .sort();
  const lines = names.map((name) => `${name}  ${sha256(readFileSync(join(folder, 'cases', name)))}\n`);
  return {
    cases: names.map((name) => [name, JSON.parse(readFileSync(join(folder, 'cases', name), 'utf8')) as Case]),
    digest: `sha256:${sha256(Buffer.from(lines.join('')))}`,
    expected: readFileSync(join(folder, 'DIGEST'), 'utf8').trim(),
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
