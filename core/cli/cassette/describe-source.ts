/** What a cassette asks for, before it is admitted: it is started in confinement, without bindings, to describe itself. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseManifest, refuseOtherManifest } from '../../cassette/admission/manifest.ts';
import { readSettings } from '../../cassette/admission/settings.ts';
import type { CassetteSource } from '../../cassette/admission/source.ts';
import { confinementOf, findSystemSupport } from '../../cassette/isolation/confinement.ts';
import { startProcess } from '../../cassette/isolation/process.ts';
import { startRemote } from '../../cassette/isolation/remote.ts';
import { type CassetteDocument, readDocument } from '../../cassette/openapi/document.ts';
import { documentText } from '../../cassette/openapi/document-text.ts';
import type { Confinement, Isolation, RunningCassette } from '../../cassette/running.ts';

export type SourceDescription = {
  document: CassetteDocument;
  /** How it will be confined, once it runs as requested. */
  confinement: Confinement;
};

/** @param folder the `.svc` in effect @param name for its tools; '' for its own name */
export type DescribeOptions = { isolation: Isolation; name: string; folder: string };

const MEMORY_MB = 256; // the default of startProcess

/** @throws {Rejection} it does not start, or its manifest, document or tools cannot be taken */
export async function describeSource(source: CassetteSource, options: DescribeOptions): Promise<SourceDescription> {
  if (source.kind === 'remote') {
    const running = startRemote({ address: source.address, name: options.name || source.address.host });
    const { pathname, search } = source.address;
    return describeRunning(running, `${pathname}${search}`, options, running.confinement);
  }
  const tmp = await mkdtemp(join(options.folder, 'asking-'));
  try {
    const silent = () => {};
    const running = await startProcess(
      {
        ...{ name: options.name || 'it', folder: source.folder, entry: source.entry, network: false },
        beside: source.beside ?? [],
        bindingsFor: ({ manifest }) => ({ LOG: log, CONFIG: defaultsOf(manifest), DB: null, CORE: null }),
        log: { debug: silent, info: silent, warn: silent, error: silent },
      },
      { tmp },
    );
    const manifest = parseManifest(running.loaded?.manifest);
    const confinement =
      options.isolation === 'inline'
        ? INLINE
        : confinementOf({
            ...(await findSystemSupport(tmp)),
            network: manifest.bindings.network,
            memory_mb: MEMORY_MB,
          });
    const description = await describeRunning(running, manifest.api.openapi, options, confinement);
    refuseOtherManifest(running.loaded?.manifest, description.document.manifest);
    return description;
  } finally {
    await rm(tmp, { recursive: true, force: true });
  }
}

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const INLINE: Confinement = {
  level: 'none',
  stops: [],
  does_not_stop: ['anything: it runs inside the service, sees all that passes and can do whatever the service can'],
};

/** The settings that have a default: none is set yet. */
function defaultsOf(manifest: unknown): Record<string, unknown> {
  const { config, ...rest } = parseManifest(manifest);
  return readSettings({ ...rest, config: config.map((setting) => ({ ...setting, required: false })) }, {});
}

async function describeRunning(
  running: RunningCassette,
  path: string,
  { name, isolation }: DescribeOptions,
  confinement: Confinement,
): Promise<SourceDescription> {
  try {
    const text = await documentText(running, path);
    const read = (as: string) => readDocument(text, { name: as, isolation });
    const document = name === '' ? await read((await read('cassette')).manifest.cassette.name) : await read(name);
    return { document, confinement };
  } finally {
    await running.close(0);
  }
}
