/** A service split into its roles: some processes of each on one PostgreSQL, of which each can be killed and started again. */

import { residentBytes } from '../resident.ts';
import { startScriptedProvider } from '../scripted-provider.ts';
import {
  emptyFolder,
  eventually,
  type ProxyService,
  type RoleService,
  removeFolder,
  startProxyAlone,
  startRole,
} from '../serve.ts';

export type FleetRole = 'proxy' | 'ingest' | 'derive' | 'api';

export type Member = {
  role: FleetRole;
  /** As 'proxy 1'. */
  name: string;
  folder: string;
  /** Null while it is killed. */
  service: (ProxyService & RoleService) | null;
};

export type Fleet = {
  members: readonly Member[];
  of(role: FleetRole): Member[];
  /** SIGKILL to all of its processes at once. */
  kill(member: Member): Promise<void>;
  /** Starts it again in its folder. */
  start(member: Member): Promise<void>;
  /** Of all of its processes. */
  residentBytes(member: Member): number;
  /** SIGTERM to all. @returns the statuses that are not 0, with the names */
  stop(): Promise<string[]>;
  close(): Promise<void>;
};

export const INTERNAL_TOKEN = 'planted-internal-token';

export type FleetOptions = {
  /** Of an empty database that all reach. */
  dsn: string;
  sizes: Readonly<Record<FleetRole, number>>;
  /** The program of the built service; default: the service from its sources. */
  program?: string | undefined;
  env?: Record<string, string>;
};

/** Resolves when all are ready. */
export async function startFleet({ dsn, sizes, program, env: more = {} }: FleetOptions): Promise<Fleet> {
  const provider = await startScriptedProvider({ delayMs: 3 });
  const env = {
    SVC_STORAGE_POSTGRES_DSN: dsn,
    SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
    SVC_INTERNAL_LISTEN: '127.0.0.1:0',
    SVC_INTERNAL_TOKEN: INTERNAL_TOKEN,
    ...more,
  };
  const members: Member[] = [];
  for (const [role, count] of Object.entries(sizes) as [FleetRole, number][])
    for (let n = 1; n <= count; n++)
      members.push({ role, name: `${role} ${n}`, folder: await emptyFolder(), service: null });

  const start = async (member: Member) => {
    const run = program === undefined ? undefined : [program];
    member.service =
      member.role === 'proxy'
        ? { ...(await startProxyAlone(member.folder, env, run)), api: '', ingest: '' }
        : { ...(await startRole(member.role, member.folder, env, run)), proxy: '' };
  };
  const pidsOf = ({ role, service }: Member): number[] => {
    if (!service) return [];
    return [service.pid, ...(role === 'proxy' ? Object.values(service.processes()) : [])].filter((pid) => pid > 0);
  };
  const stop = async () => {
    const ended = await Promise.all(
      members.map(async ({ name, service }) => ({ name, status: service ? await service.stop() : 0 })),
    );
    return ended.filter(({ status }) => status !== 0).map(({ name, status }) => `${name}: ${status}`);
  };
  const close = async () => {
    await stop();
    await provider.close();
    await Promise.all(members.map(({ folder }) => removeFolder(folder)));
  };
  const fleet: Fleet = {
    members,
    of: (role) => members.filter((member) => member.role === role),
    kill: async (member) => {
      const { service } = member;
      for (const pid of pidsOf(member)) killNow(pid); // the parent first, so that it starts nothing again
      await service?.kill();
      member.service = null;
    },
    start,
    residentBytes: (member) => residentBytes(...pidsOf(member)),
    stop,
    close,
  };
  try {
    await Promise.all(members.map(start));
    for (const member of members) await eventually(`${member.name} to be ready`, () => isReady(member));
    return fleet;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether its readiness is 200 now. */
export const isReady = async ({ service }: Member): Promise<boolean> =>
  service !== null && (await fetch(`${service.internal}/ready`).catch(() => null))?.status === 200;

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // it has ended
}
