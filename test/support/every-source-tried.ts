/** Whether every source on the list was tried once, whatever the result: admitted, or not and why. */
import type { CassetteHost } from '../../core/cassette/host.ts';
import { eventually } from './eventually.ts';

export const everySourceTried = (host: Pick<CassetteHost, 'installed'>): Promise<void> =>
  eventually(() => host.installed().every(({ state }) => state !== 'pending'));
