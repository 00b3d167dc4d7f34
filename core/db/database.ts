/** How does anyone ask the database? By the name of a question, whichever database stands behind it and in whichever thread. */
import type { questions } from './questions.ts';

export type Questions = typeof questions;
export type QuestionName = keyof Questions;
export type Args<Name extends QuestionName> = Parameters<Questions[Name]>[1];
export type Answer<Name extends QuestionName> = Awaited<ReturnType<Questions[Name]>>;

export type AskOptions = {
  /** What each of its statements may take, in place of the usual limit. */
  limitMs?: number;
  /**
   * At most 60 bytes, another for each ask: what the log calls it. On the embedded database it tells the one that took too long, or
   * brought the database down, from all that were merely under way.
   */
  label?: string;
  /** Of the embedded database: whose time it takes. Null: the service's own, which waits for nobody's. */
  owner?: string | null;
};

export type Database = {
  kind: 'embedded' | 'server';
  /** @throws {DatabaseError} `transient` when asking again may help */
  ask<Name extends QuestionName>(name: Name, args: Args<Name>, options?: AskOptions): Promise<Answer<Name>>;
  /** Hears `pg_notify` on a channel until the returned function is called. Hints only: a listener also polls. */
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};
