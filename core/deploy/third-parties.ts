/** The licences of the third-party packages in the tarball. Where a package carries no text of its licence, SPDX's is put beside it. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import licences from 'spdx-license-list/full.js';

/** The members of a package.json that are used here. */
export type PackageManifest = {
  name: string;
  version: string;
  license?: string;
  author?: string | { name?: string };
  repository?: string | { url?: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

/** Whose work it is, as the licence in the repository has it, where the package names nobody or one of its developers. */
const HOLDERS: Readonly<Record<string, string>> = {
  'onnxruntime-common': 'Microsoft Corporation',
  'onnxruntime-node': 'Microsoft Corporation',
  'onnxruntime-web': 'Microsoft Corporation',
};

/**
 * Writes a LICENSE into each package that was published without one.
 * @param packages by their paths in `to`
 * @returns the text of THIRD-PARTY.md for the folder `to`
 * @throws {Error} a package has neither a text of its licence nor a licence that SPDX knows
 */
export async function addLicences(to: string, packages: ReadonlyMap<string, PackageManifest>): Promise<string> {
  const added: string[] = [];
  for (const [path, described] of packages) {
    const files = await readdir(join(to, path));
    if (files.some((name) => /^(un)?licen[cs]e|^copying/i.test(name))) continue;
    await writeFile(join(to, path, 'LICENSE'), `${licenceOf(described)}\n`);
    added.push(described.name);
  }
  return [
    '# Packages of others that come with svc',
    '',
    'Each lies in `node_modules` as its authors published it, with its licence, but for files that svc never loads (types, source',
    'maps, builds for browsers). `sharp` and `@scarf/scarf` are empty packages of ours in the place of those.',
    'What svc loads at its start holds some of them a second time, bundled (`dist/bundle`).',
    'The script of the web UI contains further packages, whose licences are beside it (`dist/core/web/assets/licenses-….txt`).',
    '',
    ...[...packages.values()].map(
      ({ name, version, license }) => `- ${name} ${version}: ${license ?? 'see its files'}`,
    ),
    '',
    'Some were published without the text of their licence. It is put beside them as SPDX has it, with their author or, where they name',
    `none, their repository: ${added.join(', ')}.`,
    '',
  ].join('\n');
}

/** The copyright lines of SPDX's texts are those of a template, or of whom the licence is named after. */
function licenceOf(described: PackageManifest): string {
  const text = licences[described.license ?? '']?.licenseText.trim();
  if (text === undefined) throw new Error(`Cannot pack: there is no text of the licence '${described.license}'`);
  if (described.license === 'Unlicense') return text; // it disclaims copyright
  const line = `Copyright (c) ${holderOf(described)}`;
  const template = /^(?:Copyright \(c\) .*\n)+/im;
  return template.test(text) ? text.replace(template, () => `${line}\n`) : `${line}\n\n${text}`;
}

function holderOf({ name, author, repository }: PackageManifest): string {
  const at = typeof repository === 'string' ? repository : repository?.url;
  const holder =
    HOLDERS[name] ?? (typeof author === 'string' ? author : author?.name) ?? (at && `the authors of ${at}`);
  if (!holder) throw new Error(`Cannot pack: ${name} names neither an author nor a repository`);
  return holder;
}
