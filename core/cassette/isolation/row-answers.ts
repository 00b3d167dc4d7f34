/**
 * Sends rows to a cassette's process. They are passed on as the database gave them, unparsed. A statement counts as under way until its
 * response has been read; one that nobody reads is given up after a while.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { openSemaphore, type Semaphore } from '../../semaphore.ts';
import type { HandedDb } from '../running.ts';
import { collectAfter, openResultBudget, type Reserved } from './result-budget.ts';
import { endText, type ReaderLimits, sendText } from './send-text.ts';
import { statementOf } from './statement-body.ts';

/** How many statements may be in memory at a time; the others wait in the cassette's process. */
const STATEMENTS_AT_ONCE = 8;
/** How many of them run at a time, unless the database allows fewer. */
const RUNNING_AT_ONCE = 4;

export type RowAnswers = {
  query(stream: ServerHttp2Stream, db: HandedDb): Promise<void>;
  stream(stream: ServerHttp2Stream, db: HandedDb): Promise<void>;
};

type Options = { idleMs: number; errorBody: (error: unknown) => object };

export function openRowAnswers({ idleMs, errorBody }: Options): RowAnswers {
  const statements = openSemaphore(STATEMENTS_AT_ONCE);
  const room = openResultBudget();
  let running: Semaphore | undefined;
  const limitsOf = (stream: ServerHttp2Stream): ReaderLimits => {
    const left = new AbortController();
    if (stream.closed) left.abort();
    stream.once('close', () => left.abort());
    return { gone: left.signal, idleMs };
  };

  return {
    async query(stream, db) {
      await statements.acquire();
      let reserved: Reserved | undefined;
      let chars = 0;
      try {
        const { sql, parameters, options } = await statementOf(stream);
        chars = parameters.reduce((sum, each) => sum + (each?.length ?? 0), sql.length);
        running ??= openSemaphore(db.atOnce ?? RUNNING_AT_ONCE);
        await running.acquire();
        const answer = await room
          .reserve()
          .then((reservation) => {
            reserved = reservation;
            return db.queryTexts(sql, parameters, options);
          })
          .finally(running.release);
        reserved?.holds(answer.texts);
        if (stream.closed) return;
        stream.respond({ ':status': 200 });
        await sendRows(stream, answer, limitsOf(stream));
      } finally {
        reserved?.free();
        collectAfter(chars);
        statements.release();
      }
    },
    /** Releases the semaphore once the statement is read: a cassette that sends more statements while it reads rows would deadlock. */
    async stream(stream, db) {
      await statements.acquire();
      let batches: AsyncIterable<string[]>;
      try {
        const { sql, parameters, options } = await statementOf(stream);
        batches = db.streamTexts(sql, parameters, options);
      } finally {
        statements.release();
      }
      if (stream.closed) return;
      stream.respond({ ':status': 200 });
      await sendBatches(stream, batches, limitsOf(stream), errorBody);
    },
  };
}

async function sendRows(
  stream: ServerHttp2Stream,
  { texts, changed }: { texts: readonly string[]; changed: number | null },
  reader: ReaderLimits,
): Promise<void> {
  const last = `],"changed":${changed}}`;
  let pending = '{"rows":[';
  for (const [i, text] of texts.entries()) {
    if (i > 0) {
      await sendText(stream, pending, reader);
      pending = ',';
    }
    pending += text;
  }
  await endText(stream, pending + last, reader);
}

/**
 * Sends frames, each after a line with its kind and its length in characters: `r` rows separated by commas, `e` an error, `.` the end.
 * A response without one of the last two broke off.
 */
async function sendBatches(
  stream: ServerHttp2Stream,
  batches: AsyncIterable<string[]>,
  reader: ReaderLimits,
  errorBody: (error: unknown) => object,
): Promise<void> {
  let last = '.0\n';
  const unread = new AbortController();
  try {
    for await (const texts of batches) {
      for (const text of texts) {
        await sendText(stream, `r${text.length}\n${text}`, reader).catch((error: unknown) => {
          unread.abort();
          throw error;
        });
      }
      if (reader.gone.aborted) return;
    }
  } catch (error) {
    if (unread.signal.aborted) return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    const failure = JSON.stringify(errorBody(error));
    last = `e${failure.length}\n${failure}`;
  }
  await endText(stream, last, reader);
}
