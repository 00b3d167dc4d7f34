/** What a service publishes about itself to the commands beside it: where it runs, and with which settings. */
import { listFiles } from '../../cassette/list/read-list.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Service } from '../../model/status.ts';
import { changedSettings } from '../changed-settings.ts';
import type { Io } from '../io.ts';
import { whereData } from '../where-data.ts';

/** All but the listeners' addresses, which are known later, and the state of the processes. */
export const aboutService = (
  loaded: LoadedConfig,
  { cwd, pid }: Pick<Io, 'cwd'> & { pid: number },
): Omit<Service, 'listeners' | 'processes'> => ({
  pid,
  folder: loaded.folder,
  data: whereData(loaded.config.storage.postgres_dsn, loaded.folder),
  cassette_lists: [...listFiles({ cwd, folder: loaded.folder }).candidates],
  settings: changedSettings(loaded),
});
