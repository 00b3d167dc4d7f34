/**
 * The parser thread: what a cassette wants to run is parsed and judged there, so that no text of its holds up the service. One text at a
 * time, cassettes in turn; the thread starts when it is first needed, and ends when nobody has needed it for a while.
 */
import type { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { startWorker } from '../../start-worker.ts';
import { errorOf, type Failure } from '../client/failure.ts';
import { openFairQueue } from '../fair-queue.ts';
import type { MigrationText } from './migration-text.ts';
import { busy, refused, UNPARSABLE } from './refused.ts';
import type { StatementVerdict } from './statement.ts';

export type ParserRequest = { kind: 'statement' | 'migration'; text: string; own: string };
export type ParserReply = { answer: unknown } | { failure: Failure };

export type Parser = {
  /** @param own the cassette's schema @throws {DatabaseError} it may not, and why; `42601` it cannot be read */
  verdictOn(text: string, own: string): Promise<StatementVerdict>;
  /** @throws {DatabaseError} it could not be looked at */
  migration(text: string, own: string): Promise<MigrationText>;
  close(): Promise<void>;
};

/** Of a text, in UTF-8, and what parsing one may take: some 300 ms and 10 MB of memory for the worst statement, ten times that for a migration. */
const LIMITS = {
  statement: { bytes: 64 * 1024, ms: 5_000 },
  migration: { bytes: 512 * 1024, ms: 30_000 },
};
const IDLE_MS = 5 * 60_000;
const START_MS = 30_000;
const HEAP_MB = 512;
/** Of one cassette. */
const MOST_WAITING = 1_000;
/** Parsing that costs a cassette nothing; what goes beyond keeps it waiting as long. */
const FREE = { freeMs: 50, mostMs: 5_000 };

/** @param startThread for tests */
export function openParser(
  startThread = () => startWorker('db/cassette/parser-worker', null, [], { maxOldGenerationSizeMb: HEAP_MB }),
): Parser {
  const verdicts = new LRUCache<string, StatementVerdict>({
    max: 2000,
    maxSize: 8 * 1024 * 1024,
    sizeCalculation: sizeOf,
  });
  const queue = openFairQueue(FREE);
  const waiting = new Map<string, number>();
  let thread: Promise<Worker> | undefined;
  let idle: NodeJS.Timeout | undefined;

  const end = async () => {
    clearTimeout(idle);
    const ending = thread;
    thread = undefined;
    await (await ending?.catch(() => undefined))?.terminate();
  };
  const started = async (): Promise<Worker> => {
    clearTimeout(idle);
    thread ??= ready(startThread());
    try {
      return await thread;
    } catch {
      thread = undefined;
      throw busy('the parser does not start');
    }
  };
  const read = async <T>(request: ParserRequest): Promise<T> => {
    try {
      const reply = await replyOf(await started(), request, LIMITS[request.kind].ms);
      if (!reply) {
        await end();
        throw refused(UNPARSABLE);
      }
      if ('failure' in reply) throw errorOf(reply.failure);
      return reply.answer as T;
    } finally {
      idle = setTimeout(end, IDLE_MS).unref();
    }
  };
  const inTurn = async <T>(own: string, work: () => Promise<T>): Promise<T> => {
    const before = waiting.get(own) ?? 0;
    if (before >= MOST_WAITING) throw busy(`${MOST_WAITING} others of the cassette wait to be parsed`);
    waiting.set(own, before + 1);
    try {
      await started(); // takes no one's time
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
        const verdict = verdicts.get(key) ?? (await read<StatementVerdict>({ kind: 'statement', text, own })); // known meanwhile
        verdicts.set(key, verdict);
        return verdict;
      });
    },
    async migration(text, own) {
      refuseLong(text, LIMITS.migration.bytes);
      return inTurn(own, () => read<MigrationText>({ kind: 'migration', text, own }));
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

function ready(worker: Worker): Promise<Worker> {
  worker.on('error', () => {}); // seen by its exit
  return new Promise((resolve, reject) => {
    const failed = () => {
      settle();
      void worker.terminate();
      reject(new Error('Cannot start the parser: its thread ended'));
    };
    const begun = () => {
      settle();
      worker.unref();
      resolve(worker);
    };
    const late = setTimeout(failed, START_MS);
    const settle = () => {
      clearTimeout(late);
      worker.off('message', begun).off('exit', failed);
    };
    worker.once('message', begun).once('exit', failed);
  });
}

/** Undefined: it ended over it, or took too long. */
const replyOf = (worker: Worker, request: ParserRequest, ms: number): Promise<ParserReply | undefined> =>
  new Promise((resolve) => {
    const settle = (reply?: ParserReply) => {
      clearTimeout(late);
      worker.off('message', settle).off('exit', gone);
      worker.unref();
      resolve(reply);
    };
    const gone = () => settle();
    const late = setTimeout(gone, ms);
    worker.once('message', settle).once('exit', gone);
    worker.ref();
    worker.postMessage(request);
  });
