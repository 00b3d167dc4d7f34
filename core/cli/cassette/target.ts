/** The list that a command acts on: that of the running service, wherever the command was called; else that of this folder. */
import { type ListFiles, listFiles } from '../../cassette/list/read-list.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Status } from '../../model/status.ts';
import type { Io } from '../io.ts';
import { isStatus } from '../is-status.ts';
import { fetchReadApi } from '../read-api.ts';
import { publishedService, runsHere } from '../running-service.ts';

export type Target = {
  /** The `.svc` where the cassettes are installed. */
  folder: string;
  files: ListFiles;
  /** Who reads that list, as the end of a sentence. */
  reader: string;
  /** Whether it is the list of this command's own configuration. */
  isOwn: boolean;
  /** The service that answers, whether it reads that list or not. */
  running: RunningService | null;
};

/** `data`: where its turns lie, without credentials. Null, as `readsList`: that is not known. */
export type RunningService = { address: string; data: string | null; readsList: boolean | null };

/** @throws {OperatorError} 2: `client.api_target` names a service whose list cannot be reached from here */
export async function targetOf(loaded: LoadedConfig, { cwd }: Pick<Io, 'cwd'>): Promise<Target> {
  const { config, folder, source } = loaded;
  const { answer, address, state, remarks } = await fetchReadApi<Status>(loaded, {
    ...{ path: '/v1/admin/status', is: isStatus, what: 'status' },
  });
  const files = listFiles({ cwd, folder, built_in: config.cassettes.built_in });
  const own = (reader: string, running: RunningService | null): Target => ({
    ...{ folder, files, reader, isOwn: true, running },
  });
  if (state !== 'up' || address === null)
    return own(`of this folder: no service answers at ${address ?? 'an address that is known'}`, null);
  const service = answer?.service;
  if (!service)
    return own(`of this folder; whether the service at ${address} reads it is not known. ${remarks.join('. ')}`, {
      ...{ address, data: publishedService(folder)?.data ?? null, readsList: null },
    });
  if (runsHere(service)) {
    const builtIn = service.settings.some(({ key, value }) => key === 'cassettes.built_in' && value === false);
    const { builtIn: ours } = listFiles({ cwd, folder, built_in: !builtIn });
    return {
      folder: service.folder,
      files: { builtIn: ours, candidates: service.cassette_lists },
      reader: `of the service at ${address}, which runs in ${service.folder}`,
      isOwn: service.folder === folder,
      running: { address, data: service.data, readsList: true },
    };
  }
  if ((source['client.api_target'] ?? 'default') !== 'default')
    throw new OperatorError(
      `Cannot reach the list of the service at ${address}: it runs on another machine, in a container or as another user; run this command there`,
      2,
    );
  return own(`of this folder; the service at ${address} runs elsewhere and reads another`, {
    ...{ address, data: service.data, readsList: false },
  });
}
