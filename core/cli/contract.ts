/** `svc contract`: prints the OpenAPI documents of both APIs, or seals them as they are now. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ingestContract } from '../../ingest/app.ts';
import { readContract } from '../api/app.ts';
import { type Document, seal } from '../http/contract.ts';
import { packageRoot } from '../package-root.ts';

/** The file of each document's fingerprint, relative to the package's root. */
export const CONTRACTS = {
  api: { file: 'core/api/CONTRACT', compile: readContract },
  ingest: { file: 'ingest/CONTRACT', compile: ingestContract },
} as const satisfies Record<string, { file: string; compile: (version: string) => Document }>;

/** Prints one JSON object `{api, ingest}`; with `seal` rewrites both CONTRACT files and prints which changed. */
export async function printContracts(
  { seal: sealing }: { seal: boolean },
  { out }: { out: (text: string) => void },
): Promise<void> {
  const { version } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  if (!sealing) {
    const documents = Object.entries(CONTRACTS).map(([name, { compile }]) => [name, compile(version)]);
    out(`${JSON.stringify(Object.fromEntries(documents), null, 2)}\n`);
    return;
  }
  for (const { file, compile } of Object.values(CONTRACTS)) {
    const path = join(packageRoot(), file);
    const fingerprint = seal(compile(version));
    const moved = (await readFile(path, 'utf8').catch(() => '')).trim() !== fingerprint;
    if (moved) await writeFile(path, `${fingerprint}\n`);
    out(`${file}: ${fingerprint}${moved ? ', moved' : ''}\n`);
  }
}
