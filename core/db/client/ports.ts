/** The messages between threads about the embedded database: between a holder, the host and the database thread. */
import type { MessagePort } from 'node:worker_threads';
import type { Failure } from './failure.ts';

/** Holder to database thread: a request, numbered by `ask`. */
export type Wish =
  | { ask: number; name: string; args: unknown; limitMs: number; label: string; owner: string | null }
  | { ask: number; listen: string }
  | { ask: number; unlisten: string };

/** Database thread to holder. */
export type PortReply =
  | { ask: number; answer: unknown }
  | { ask: number; failure: Failure }
  | { channel: string; payload: string };

/** Host to database thread: a holder's port, or the end. */
export type Order = { holder: MessagePort } | { close: true };

/** Database thread to host. */
export type ThreadReport = { ready: true } | { failed: Failure } | { closed: true };

/** Host to holder: a port to the current database thread, or why there is none, and what it was running when it ended. */
export type Notice = { port: MessagePort } | { lost: string; doing: Doing | undefined } | { closed: true };

/** The operation that ran. `label`: that of its request; `late`: the thread was ended because it took too long. */
export type Doing = { label: string; late: boolean };
