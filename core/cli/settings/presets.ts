/** Sets of settings that `svc init` starts a configuration file with. */
import { PROVIDER_IDS } from '../../provider/provider-ids.ts';
import type { TomlValue } from './edit-toml.ts';

/** `next`: what is left to do, for whoever made the file. */
export type Preset = { name: string; what: string; settings: () => Readonly<Record<string, TomlValue>>; next?: string };

/** For whoever reaches the read API from another machine: it shows everything. */
const newToken = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');

export const PRESETS: readonly Preset[] = [
  {
    name: 'local',
    what: 'everything at its default: for one person, with the embedded database',
    settings: () => ({}),
  },
  ...PROVIDER_IDS.map((id) => ({
    name: id,
    what: `requests without a provider in their path go to ${id}`,
    settings: () => ({ 'proxy.provider': id }),
  })),
  {
    name: 'team',
    what: 'proxy and read API for other machines, with a new token, and a PostgreSQL server',
    settings: () => ({ 'proxy.listen': '0.0.0.0:8080', 'api.listen': '0.0.0.0:8081', 'api.token': newToken() }),
    next: `Left to do, each a line:
  svc config set storage.postgres_dsn             the DSN is typed without being shown, or piped
  svc config set allowed_hosts svc.example        the name by which others reach this machine
  svc config get api.token --show-secret          what their SVC_API_TOKEN is`,
  },
];
