/** The licences of the third-party packages in the tarball. Where a package carries no text of its licence, SPDX's is added. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import licences from 'spdx-license-list/full.js';

/** The members of a package.json that are used here. */
export type Described = {
  name: string;
  version: string;
  license?: string;
  author?: string | { name?: string };
  repository?: string | { url?: string };
  dependencies?: Record<string, string>;
};

/**
 * The text of THIRD-PARTY.md for the folder `to`.
 * @param packages by their paths in `to`
 * @throws {Error} a package has neither a text of its licence nor a licence that SPDX knows
 */
export async function thirdParties(to: string, packages: ReadonlyMap<string, Described>): Promise<string> {
  const without: Described[] = [];
  for (const [path, described] of packages) {
    const files = await readdir(join(to, path));
    if (!files.some((name) => /^(un)?licen[cs]e|^copying/i.test(name))) without.push(described);
  }
  return [
    '# Packages of others that come with svc',
    '',
    'Each lies in `node_modules` as its authors published it, with its licence, but for files that svc never loads (types, source',
    'maps, builds for browsers). `sharp` and `@scarf/scarf` are empty packages of ours in the place of those.',
    'The script of the web UI contains further packages, whose licences are beside it (`dist/core/web/assets/licenses-….txt`).',
    '',
    ...[...packages.values()].map(
      ({ name, version, license }) => `- ${name} ${version}: ${license ?? 'see its files'}`,
    ),
    '',
    '## Packages without the text of their licence',
    '',
    'Their authors published these without it; it follows as SPDX has it.',
    '',
    ...without.map((each) => `- ${each.name} ${each.version}: ${each.license}, by ${authorOf(each)}`),
    ...[...new Set(without.map(({ license }) => license))].flatMap((id) => [
      '',
      `### ${id}`,
      '',
      '```',
      textOf(id),
      '```',
    ]),
    '',
  ].join('\n');
}

function authorOf({ author, repository }: Described): string {
  const name = typeof author === 'string' ? author : author?.name;
  const at = typeof repository === 'string' ? repository : repository?.url;
  return [name, at].filter(Boolean).join(', ');
}

function textOf(id: string | undefined): string {
  const text = licences[id ?? '']?.licenseText;
  if (text === undefined) throw new Error(`Cannot pack: there is no text of the licence '${id}'`);
  return text.trim();
}
