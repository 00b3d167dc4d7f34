/** The `.svc` folder that holds what was sent: the one in effect, else the user's own, so that none is made where somebody happens to work. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';

export const stateFolder = ({ folder }: Pick<LoadedConfig, 'folder'>, home: string): string =>
  existsSync(folder) || home === '' ? folder : join(home, '.svc');
