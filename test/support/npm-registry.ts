/** An npm registry on this machine: packages that npm packed, by name, one version of each. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

type Published = { described: Record<string, unknown>; tarball: Buffer; dist: object };

export type NpmRegistry = {
  origin: string;
  /** Paths that were requested. */
  requests: string[];
  /** Packs the folder, its package.json changed by `more`. @param dist instead of where its tarball is and what it hashes to */
  publish(folder: string, more?: object, dist?: object): Promise<void>;
  close(): void;
};

/** @param home for npm's cache */
export async function startRegistry(home: string): Promise<NpmRegistry> {
  const published = new Map<string, Published>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const [name = '', file] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/');
    const found = published.get(name);
    if (!found) return void response.writeHead(404).end('{}');
    if (file) return void response.end(found.tarball);
    const { described, tarball, dist } = found;
    const version = String(described.version);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const versions = {
      [version]: { ...described, dist: { tarball: `${origin}/${name}/-/${version}.tgz`, integrity, ...dist } },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    requests,
    async publish(folder, more = {}, dist = {}) {
      const path = join(folder, 'package.json');
      const described = { ...JSON.parse(await readFile(path, 'utf8')), ...more };
      await writeFile(path, JSON.stringify(described));
      const env = { PATH: process.env.PATH, HOME: home };
      const { stdout } = await promisify(execFile)('npm', ['pack', '--ignore-scripts', '--json'], { cwd: folder, env });
      const tarball = await readFile(join(folder, JSON.parse(stdout)[0].filename));
      published.set(described.name, { described, tarball, dist });
    },
    close: () => server.close(),
  };
}
