/** `npm run tarball`: writes `svc-<version>.tgz` into this folder, or into the named one. The project must be built and installed. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../package-root.ts';
import { writeTarball } from './write-tarball.ts';

const root = packageRoot();
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const file = resolve(process.argv[2] ?? '.', `svc-${version}.tgz`);
await writeTarball({ root, dist: join(root, 'dist') }, file, 9);
console.log(`npm install -g ${file}`);
