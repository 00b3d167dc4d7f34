/**
 * The parser thread: cassettes' statements are parsed and checked there, so that no text of theirs delays the service. One text at a
 * time, cassettes in turn; the thread starts when it is first needed, and ends when it has been idle for a while.
 */
import type { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { errorOf, type Failure } from '../../db/client/failure.ts';
import { openFairQueue } from '../../db/fair-queue.ts';
import { startWorker } from '../../start-worker.ts';
import type { MigrationText } from './migration-text.ts';
import type { StatementVerdict } from './statement.ts';
import { busy, refused, UNPARSABLE } from './statement-refusals.ts';

export type ParserRequest = { kind: 'statement' | 'migration'; text: string; own: string };
export type ParserReply = { answer: unknown } | { failure: Failure };

export type Parser = {
  /** @param own the cassette's schema @throws {DatabaseError} it is refused, and why; `42601` it cannot be parsed */
  verdictOn(text: string, own: string): Promise<StatementVerdict>;
  /** @throws {DatabaseError} it could not be checked */
  migration(text: string, own: string): Promise<MigrationText>;
  close(): Promise<void>;
};

/** Limits of a text (in UTF-8) and of parsing it. The worst statement takes some 300 ms and 10 MB of memory, a migration ten times that. */
const LIMITS = {
  statement: { bytes: 64 * 1024, ms: 5_000 },
  migration: { bytes: 512 * 1024, ms: 30_000 },
};
const IDLE_MS = 5 * 60_000;
const START_MS = 30_000;
const HEAP_MB = 512;
/** Texts of one cassette. */
const MOST_WAITING = 1_000;
/** Parsing up to `freeMs` costs a cassette nothing; for time beyond it the cassette waits as long. */
const FREE = { freeMs: 50, mostMs: 5_000 };

/** @param startThread for tests */
export function openParser(
  startThread = () => startWorker('cassette/database/parser-worker', null, [], { maxOldGenerationSizeMb: HEAP_MB }),
): Parser {
  const verdicts = new LRUCache<string, StatementVerdict>({
    max: 2000,
    maxSize: 8 * 1024 * 1024,
    sizeCalculation: sizeOf,
  });
  const queue = openFairQueue(FREE);
  const waiting = new Map<string, number>();
  let thread: Promise<Worker> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  const end = async () => {
    clearTimeout(idleTimer);
    const ending = thread;
    thread = undefined;
    await (await ending?.catch(() => undefined))?.terminate();
  };
  const started = async (): Promise<Worker> => {
    clearTimeout(idleTimer);
    thread ??= ready(startThread());
    try {
      return await thread;
    } catch {
      thread = undefined;
      throw busy('the parser does not start');
    }
  };
  const sendRequest = async <T>(request: ParserRequest): Promise<T> => {
    try {
      const worker = await started();
      const replied = nextMessage<ParserReply>(worker, LIMITS[request.kind].ms);
      worker.ref();
      worker.postMessage(request);
      const reply = await replied;
      if (!reply) {
        await end();
        throw refused(UNPARSABLE);
      }
      if ('failure' in reply) throw errorOf(reply.failure);
      return reply.answer as T;
    } finally {
      idleTimer = setTimeout(end, IDLE_MS).unref();
    }
  };
  const inTurn = async <T>(own: string, work: () => Promise<T>): Promise<T> => {
    const count = waiting.get(own) ?? 0;
    if (count >= MOST_WAITING) throw busy(`${MOST_WAITING} others of the cassette wait to be parsed`);
    waiting.set(own, count + 1);
    try {
      await started(); // not charged to the cassette
      return await queue.run(own, work);
    } finally {
      const left = (waiting.get(own) ?? 1) - 1;
      if (left === 0) waiting.delete(own);
      else waiting.set(own, left);
    }
  };

  return {
    async verdictOn(text, own) {
      const key = `${own} ${text}`;
      const known = verdicts.get(key);
      if (known) return known;
      refuseLong(text, LIMITS.statement.bytes);
      return inTurn(own, async () => {
        const verdict = verdicts.get(key) ?? (await sendRequest<StatementVerdict>({ kind: 'statement', text, own })); // perhaps parsed meanwhile
        verdicts.set(key, verdict);
        return verdict;
      });
    },
    async migration(text, own) {
      refuseLong(text, LIMITS.migration.bytes);
      return inTurn(own, () => sendRequest<MigrationText>({ kind: 'migration', text, own }));
    },
    close: end,
  };
}

function sizeOf({ places }: StatementVerdict, key: string): number {
  return key.length + places.length * 32 + 100;
}

function refuseLong(text: string, most: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > most) throw refused(`its text has ${bytes} bytes, at most ${most} are read: pass values as parameters`);
}

async function ready(worker: Worker): Promise<Worker> {
  worker.on('error', () => {}); // 'exit' follows
  if (await nextMessage(worker, START_MS)) return worker;
  void worker.terminate();
  throw new Error('Cannot start the parser: its thread ended');
}

/** Undefined: the thread ended or took too long. */
const nextMessage = <T>(worker: Worker, ms: number): Promise<T | undefined> =>
  new Promise((resolve) => {
    const settle = (message?: T) => {
      clearTimeout(timer);
      worker.off('message', settle).off('exit', giveUp);
      worker.unref();
      resolve(message);
    };
    const giveUp = () => settle();
    const timer = setTimeout(giveUp, ms);
    worker.once('message', settle).once('exit', giveUp);
  });
