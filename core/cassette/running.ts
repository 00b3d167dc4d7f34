/** The types of a running cassette and of its rejection, the same for every isolation: inline, in a process of its own, or remote. */

import type { Env, Progress } from './contract.ts';
import type { RowTexts } from './database/cassette-db.ts';

export type Isolation = 'inline' | 'process' | 'remote';

/** `full`: own namespaces (network, processes), file access and memory are bounded; `partial`: some of these; `none`: it is trusted. */
export type Confinement = {
  level: 'full' | 'partial' | 'none';
  stops: readonly string[];
  does_not_stop: readonly string[];
};

/** What a module declares about itself when it is loaded, before anything else of it runs. Unchecked. */
export type LoadedModule = { manifest: unknown; migrations: unknown; scheduled: boolean };

/** The bindings that it is handed once its manifest was read; `null`: a binding that it does not have. */
export type Bindings = Pick<Env, 'LOG' | 'CONFIG'> & { DB: HandedDb | null; CORE: Env['CORE'] | null };

/** With row texts as they come from the database, unparsed, for a process of its own. */
export type HandedDb = NonNullable<Env['DB']> & RowTexts;

/** `starting`: first start; `restarting`: it ended and is restarted after a pause; `down`: given up; `up`. */
export type Liveness = {
  state: 'starting' | 'up' | 'restarting' | 'down' | 'closed';
  reason: string | null;
  restarts: number;
  /** When it went down, or came up again: RFC 3339, UTC. Absent while it never ended. */
  since?: string;
};

export type RunningCassette = {
  /** null for a remote source, whose document has the manifest. */
  loaded: LoadedModule | null;
  confinement: Confinement;
  liveness(): Liveness;
  /** Settles only when the files are not those that were admitted any more; it is not restarted then. */
  outdated?: Promise<Rejection>;
  /** The progress of its background work, as last reported; null: none was reported. */
  progress(): Progress | null;
  /**
   * Sends it a request to one of its own paths. Both bodies stream; the request's signal ends both.
   * @throws {CassetteDown} it is not there, or failed before it responded
   */
  fetch(request: Request): Promise<Response>;
  /** One run of its background work; settles when that is done. @throws {Error} what it threw, by its message */
  scheduled(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** Accepts nothing new, lets responses under way and `waitUntil` finish for `graceMs`, then ends it. */
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

/** It cannot be admitted; the message gives the reason in one sentence that an operator can act on. `step` is where it failed. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly step: AdmissionStep;
  /** Every problem, where there are several. */
  readonly problems: readonly string[];
  /** It is not retried automatically while its code is the same. */
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
  'manifest', // its manifest can be read
  'name', // and its name is free
  'grants', // and it asks for no more than was granted
  'config', // and its settings are complete
  'openapi', // its document can be fetched and is valid
  'tools', // and its tools can be offered
  'depends', // what it needs is served
  'migrate', // its schema is made
  'health', // it answers
] as const;
export type AdmissionStep = (typeof STEPS)[number];

/** The input for starting a module. `bindingsFor` is called at each start, with what the module declares. @throws {Rejection} */
export type StartModule = {
  name: string;
  /** The folder with everything that belongs to it. */
  folder: string;
  /** The module's file, absolute. */
  entry: string;
  /** What else it may read: for cassettes that come with the service, the code that they share. */
  beside?: readonly string[];
  bindingsFor(loaded: LoadedModule): Bindings | Promise<Bindings>;
  /** The operator's grant. A process has a network if its manifest asks for one as well; else none, where the system can deny it. */
  network: boolean;
  /** Checks that it is still what was admitted: before each restart, and each time after it has loaded. @throws {Rejection} digest */
  unchanged?(): Promise<void>;
  log: Env['LOG'];
};
