/** What runs of a source? The same shape whichever way it is kept apart: in this process, in one of its own, or elsewhere. */
import type { RowTexts } from '../db/cassette/cassette-db.ts';
import type { Env, Progress } from './contract.ts';

export type Isolation = 'inline' | 'process' | 'remote';

/** `full`: own namespaces (network, processes), file access and memory are bounded; `partial`: some of these; `none`: it is trusted. */
export type Confinement = {
  level: 'full' | 'partial' | 'none';
  stops: readonly string[];
  does_not_stop: readonly string[];
};

/** What a module says of itself when it was loaded, before anything of it runs. Unchecked. */
export type LoadedModule = { manifest: unknown; migrations: unknown; scheduled: boolean };

/** What is handed to it once its manifest was read; `null` members are bindings that it does not have. */
export type Handed = Pick<Env, 'LOG' | 'CONFIG'> & { DB: HandedDb | null; CORE: Env['CORE'] | null };

/** A process of its own gets rows as they come from the database, unread. */
export type HandedDb = NonNullable<Env['DB']> & RowTexts;

/** `starting`: first start; `restarting`: it died and is started again after a while; `down`: given up; `up`. */
export type Liveness = {
  state: 'starting' | 'up' | 'restarting' | 'down' | 'closed';
  reason: string | null;
  restarts: number;
  /** Since when it is down, or up again: RFC 3339, UTC. Absent of one that never died. */
  since?: string;
};

export type RunningCassette = {
  /** null for a remote source, which says it in its document. */
  loaded: LoadedModule | null;
  confinement: Confinement;
  liveness(): Liveness;
  /** Settles, and only then, when what lies there is not what was admitted, so that it is not started again. */
  outdated?: Promise<Rejection>;
  /** Of its background work, as it told it last; null: it told none. */
  progress(): Progress | null;
  /**
   * Asks it by one of its own paths. The body streams both ways; the request's signal ends both.
   * @throws {CassetteDown} it is not there, or broke before it answered
   */
  fetch(request: Request): Promise<Response>;
  /** One run of its background work; settles when that is done. @throws {Error} what it threw, by its message */
  scheduled(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** Takes nothing new, lets answers under way and `waitUntil` finish for so long, then ends it. */
  close(graceMs: number): Promise<void>;
};

/** `unavailable`: not there now (503); `broken`: it failed over this request (502); `late`: it did not answer in time (504). */
export class CassetteDown extends Error {
  override readonly name = 'CassetteDown';
  readonly kind: 'unavailable' | 'broken' | 'late';
  constructor(kind: 'unavailable' | 'broken' | 'late', message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** It cannot be let in, and why, in one sentence that an operator can act on. `step` is where it failed. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly step: AdmissionStep;
  /** Every problem, where there are several. */
  readonly problems: readonly string[];
  /** It is not tried again by itself while its code is the same. */
  readonly final: boolean;
  constructor(step: AdmissionStep, message: string, problems: readonly string[] = [], { final = false } = {}) {
    super(message);
    this.step = step;
    this.problems = problems;
    this.final = final;
  }
}

/** Admission goes through these in this order. `resolve` failures leave a source `unresolved`, the others `rejected`. */
export const STEPS = [
  'resolve', // the source is there
  'digest', // and is what was pinned
  'start', // it loads, in its isolation
  'manifest', // what it says of itself can be read
  'name', // and its name is free
  'grants', // and it asks for no more than was granted
  'config', // and its settings are complete
  'openapi', // its document can be had and is valid
  'depends', // and what it needs is served
  'tools', // its tools can be offered
  'migrate', // its schema is made
  'health', // it answers
] as const;
export type AdmissionStep = (typeof STEPS)[number];

/** What a module is started with. `handed` is asked each time that it starts, with what it says of itself. @throws {Rejection} */
export type StartModule = {
  name: string;
  /** Everything that belongs to it lies in here. */
  folder: string;
  /** The module's file, absolute. */
  entry: string;
  /** What else it may read: of those that come with the service, the code that they share. */
  beside?: readonly string[];
  handed(loaded: LoadedModule): Handed | Promise<Handed>;
  /** The operator's grant. A process has a network if its manifest asks for it as well; else none, where the system allows that. */
  network: boolean;
  /** Is it still what was admitted? Asked before it is started again, and each time after it has loaded. @throws {Rejection} digest */
  unchanged?(): Promise<void>;
  log: Env['LOG'];
};
