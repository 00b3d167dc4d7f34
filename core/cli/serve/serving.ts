/** What `svc serve` is called with. */

import type { Listeners } from './listening.ts';
import type { ServeRole } from './role.ts';

export type Serving = {
  role: ServeRole;
  version: string;
  /** Runs once everything listens, until a signal to stop; default: the banner is printed. */
  running?: (listeners: Addresses) => Promise<void>;
  /** The service is shared by harnesses, and published as that. `opened` runs once the folder is locked for it, before it is published. */
  shared?: { opened(): void };
};
export type Addresses = Omit<Listeners, 'close'>;
