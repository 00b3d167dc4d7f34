/** Runs the built-in cassettes beside the service, all in one process: started when one of them is needed, ended after a while without use. */
import { parseManifest } from '../admission/manifest.ts';
import type { Progress } from '../contract.ts';
import { CassetteDown, type Confinement, type RunningCassette, type StartModule } from '../running.ts';
import { type ChangesSince, openDueWork } from './due-work.ts';
import { startInline } from './inline.ts';
import type { Member } from './shared-life.ts';
import { type LivesOptions, openSharedLives } from './shared-lives.ts';

/** The process of built-in cassettes: their manifest, document and health are served in this process, all else in that one. */
export type SharedProcess = {
  /** @throws {Rejection} `start`: it does not load */
  start(module: StartModule): Promise<RunningCassette>;
  /** The id of the process that runs now; null: none does. */
  pid(): number | null;
};

type Options = LivesOptions & {
  /** Absent: nothing is recorded, so there is no background work. */
  changes?: ChangesSince;
};

const TRUSTED: Confinement = {
  level: 'none',
  stops: ['keeping the service from answering by a loop, a death or its memory'],
  does_not_stop: ['anything else: it runs with the rights of the service, in a process that cassettes of ours share'],
};

export function openSharedProcess({ changes, ...options }: Options): SharedProcess {
  const lives = openSharedLives(options);
  return {
    pid: lives.pid,
    async start(module) {
      const here = await startInline(module);
      const { health, openapi } = parseManifest(here.loaded?.manifest).api;
      let progress: Progress | null = null;
      const member: Member = {
        ...module,
        bindings: () => module.bindingsFor(here.loaded ?? { manifest: null, migrations: null, scheduled: false }),
        progressed: (reported) => {
          progress = reported;
        },
      };
      lives.add(member);
      const whenDue = changes && openDueWork({ changes, progress: () => progress });
      let closed: Promise<void> | undefined;
      const refuseClosed = () => {
        if (closed) throw new CassetteDown('unavailable', `Cannot ask "${module.name}": it was closed`);
      };
      return {
        loaded: here.loaded,
        confinement: TRUSTED,
        liveness: () => ({ state: closed ? 'closed' : 'up', reason: null, restarts: lives.restarts() }), // idle counts as up: it can be called
        progress: () => progress,
        async fetch(request) {
          refuseClosed();
          const { pathname } = new URL(request.url);
          if (pathname === health || pathname === openapi) return here.fetch(request);
          return lives.withChannel(member, request.signal, (channel) => channel.fetch(request));
        },
        async scheduled(event) {
          refuseClosed();
          const { signal } = event;
          await whenDue?.(() => lives.withChannel(member, signal, (channel) => channel.scheduled(event)), signal);
        },
        close(graceMs) {
          closed ??= Promise.all([here.close(graceMs), lives.remove(member, graceMs)]).then(() => {});
          return closed;
        },
      };
    },
  };
}
