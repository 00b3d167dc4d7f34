/** The messages between threads about the embedded database: between a holder, the host and the database thread. */
import type { MessagePort } from 'node:worker_threads';
import type { Failure } from './failure.ts';

/** Holder to database thread: a request, numbered by `id`. */
export type PortRequest =
  | { id: number; name: string; args: unknown; limitMs: number; label: string; owner: string | null }
  | { id: number; listen: string }
  | { id: number; unlisten: string };

/** Database thread to holder. */
export type PortReply =
  | { id: number; answer: unknown }
  | { id: number; failure: Failure }
  | { channel: string; payload: string };

/** What a database thread works with. `template`: what a new database is copied from; null: it is created. */
export type DatabaseThread = { folder: string; gauge: SharedArrayBuffer; template: string | null };

/** Host to database thread: what it opens, where it was started without that; a holder's port; the end. */
export type HostCommand = { open: DatabaseThread } | { holder: MessagePort } | { close: true };

/** Database thread to host. */
export type ThreadReport = { migrating: string } | { ready: true } | { failed: Failure } | { closed: true };

/** Host to holder: a port to the current database thread, or why there is none, and what it was running when it ended. */
export type HostNotice =
  | { port: MessagePort }
  | { lost: string; doing: RunningOperation | undefined }
  | { closed: true };

/** The operation that ran. `label`: that of its request; `late`: the thread was ended because it took too long. */
export type RunningOperation = { label: string; late: boolean };
