/** The two processes of `svc serve` together: what they tell each other passes here, and what outlives either of them is remembered here. */
import type { Logger } from '../../log.ts';
import type { ProcessState } from '../../model/status.ts';
import { ALLOCATOR, PROXY_FLAGS, SERVICE_FLAGS } from '../../service-flags.ts';
import { type Supervised, superviseProcess } from './child-process.ts';
import { openCounters } from './counters.ts';
import type { HeldAddress } from './held-addresses.ts';
import {
  FIRST_FD,
  type FromChild,
  type ListenerAddress,
  type ListenerName,
  type Start,
  type ToChild,
} from './messages.ts';
import { processHeartbeats } from './process-heartbeats.ts';
import { withoutServiceManager } from './service-manager.ts';
import { startStandIn } from './stand-in.ts';

export type Processes = {
  proxy: Supervised;
  service: Supervised;
  states(): ProcessState[];
  /** Whether both have responded since the last call, as far as they run. */
  areWell(): boolean;
  /** Stops both, the proxy first; what is under way may finish for so long. May be called again, for less. */
  stop(graceMs: number): Promise<void>;
};

export type HeldAddresses = Partial<Record<ListenerName, HeldAddress>>;

type Options = {
  start: Omit<Start, 'addresses'>;
  held: HeldAddresses;
  log: Logger;
  /** Prints on stdout. */
  out(text: string): void;
  /** The state of a process has changed. */
  changed(states: ProcessState[]): void;
  /** The proxy does not start: it has ended again and again before it listened. */
  hopeless(reason: string): void;
};

const LISTENERS = { proxy: ['proxy'], service: ['api', 'ingest', 'internal'] } as const;
const SERVICE_DOWN_MS = 60_000;
const END_MS = 15_000; // after the grace, for a process to end by itself
const REMEMBER_MS = 10_000; // what a process counts in less is lost with it, unless somebody has seen it

const descriptors = (held: HeldAddresses, names: readonly ListenerName[]): number[] =>
  names.flatMap((name) => held[name]?.fds ?? []);

/** The sockets of these listeners under the numbers that they have in their process; of the others only where they are. */
function addressesFor(held: HeldAddresses, names: readonly ListenerName[]): Start['addresses'] {
  let next = FIRST_FD;
  const numbered = names.map((name) => [name, (held[name]?.fds ?? []).map(() => next++)] as const);
  const fdsOf = new Map(numbered);
  return Object.fromEntries(
    Object.entries(held).map(([name, { urls }]): [string, ListenerAddress] => {
      const fds = fdsOf.get(name as ListenerName) ?? [];
      return [name, { urls, ...(fds.length > 0 && { at: { fds } }) }];
    }),
  );
}

/** The reason itself may name hosts, roles and folders, and whoever asks has shown no token. */
const WHY_DOWN = "the service is down: 'svc status' and its log say why";

export function startProcesses({ start: { io, ...rest }, held, log, out, changed, hopeless }: Options): Processes {
  const start = { ...rest, io: { ...io, env: withoutServiceManager(io.env) } };
  const { env } = start.io;
  const sockets = LISTENERS.service.flatMap((name) =>
    descriptors(held, [name]).map((fd) => ({ fd, isIngest: name === 'ingest' })),
  );
  const counters = openCounters((id) => proxy.send({ kind: 'count', id }));
  let run: ToChild | null = null;
  let written: ToChild | null = null;

  const states = () => [proxy.state(), service.state()];
  const heartbeats = processHeartbeats(states, () => {
    for (const one of [proxy, service]) one.send({ kind: 'beat' });
  });
  const beat = ({ pid }: ProcessState) => pid !== undefined && heartbeats.beat(pid);
  const stateChanged = () => {
    changed(states());
    service.send({ kind: 'processes', processes: states() });
  };

  const fromProxy = (message: FromChild) => {
    if (message.kind === 'run') {
      run = message;
      written = null;
      service.send(message);
    } else if (message.kind === 'written') {
      written = message;
      service.send(message);
    } else if (message.kind === 'busy') service.send(message);
    else if (message.kind === 'counters') counters.fromProxy(message.id, message.snapshot);
    else if (message.kind === 'beat') beat(proxy.state());
  };
  const fromService = (message: FromChild) => {
    if (message.kind === 'deleted') proxy.send(message);
    else if (message.kind === 'count')
      void counters.others().then((snapshots) => service.send({ kind: 'counted', id: message.id, snapshots }));
    else if (message.kind === 'shown') counters.fromService(message.snapshots);
    else if (message.kind === 'print') out(message.text);
    else if (message.kind === 'beat') beat(service.state());
  };

  const proxy: Supervised = superviseProcess({
    name: 'proxy',
    flags: PROXY_FLAGS,
    env: start.io.env,
    fds: descriptors(held, LISTENERS.proxy),
    downMs: null, // calls wait for it
    log,
    begin: () => [{ kind: 'start', start: { ...start, addresses: addressesFor(held, LISTENERS.proxy) } }],
    received: fromProxy,
    died: () => {
      counters.proxyDied();
      service.send({ kind: 'busy', listeners: false });
    },
    changed: stateChanged,
    hopeless,
  });
  const service: Supervised = superviseProcess({
    name: 'service',
    flags: SERVICE_FLAGS,
    env: { ...(start.loaded.config.storage.postgres_dsn === '' ? ALLOCATOR : {}), ...start.io.env },
    fds: descriptors(held, LISTENERS.service),
    downMs: SERVICE_DOWN_MS,
    ...(sockets.length > 0 && {
      standIn: (until: number) => startStandIn({ sockets, until, env, why: WHY_DOWN }),
    }),
    log,
    begin: () => [
      { kind: 'start', start: { ...start, addresses: addressesFor(held, LISTENERS.service) } },
      ...[run, written].filter((message) => message !== null),
      { kind: 'processes', processes: states() },
    ],
    received: fromService,
    died: counters.serviceDied,
    changed: () => {
      stateChanged();
      if (service.state().state === 'up') proxy.send({ kind: 'deleted' }); // what the last one sent before its end may be lost
    },
  });
  proxy.run(); // first: it is to take calls as soon as may be
  service.run();
  const remembering = setInterval(() => void counters.others(), REMEMBER_MS).unref();

  return {
    proxy,
    service,
    states,
    areWell: heartbeats.check,
    stop: async (graceMs) => {
      clearInterval(remembering);
      const late = [setTimeout(proxy.kill, graceMs + END_MS), setTimeout(service.kill, graceMs + 2 * END_MS)];
      proxy.stop(graceMs);
      service.stop(graceMs);
      await proxy.ended;
      service.send({ kind: 'finish' });
      await service.ended;
      for (const timer of late) clearTimeout(timer);
    },
  };
}
