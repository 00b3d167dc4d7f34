/**
 * Answers a cassette's process with rows. They go as the database gave them, unread; a statement counts as under way until its answer has
 * been taken, and what nobody takes is given up after a while.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { openSemaphore, type Semaphore } from '../../semaphore.ts';
import type { HandedDb } from '../running.ts';
import { leave, openAnswerRoom, type Reserved } from './answer-room.ts';
import { endText, type ReaderPace, sendText } from './send-text.ts';
import { statementOf } from './statement-body.ts';

/** So many of these can be in memory at a time; those after them wait in the process that asks. */
const STATEMENTS_AT_ONCE = 8;
/** Of them so many run, unless the database says less. */
const RUNNING_AT_ONCE = 4;

export type RowAnswers = {
  query(stream: ServerHttp2Stream, db: HandedDb): Promise<void>;
  stream(stream: ServerHttp2Stream, db: HandedDb): Promise<void>;
};

type Options = { idleMs: number; told: (error: unknown) => object };

export function openRowAnswers({ idleMs, told }: Options): RowAnswers {
  const statements = openSemaphore(STATEMENTS_AT_ONCE);
  const room = openAnswerRoom();
  let running: Semaphore | undefined;
  const paceOf = (stream: ServerHttp2Stream): ReaderPace => {
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
          .then((own) => {
            reserved = own;
            return db.queryTexts(sql, parameters, options);
          })
          .finally(running.release);
        reserved?.holds(answer.texts);
        if (stream.closed) return;
        stream.respond({ ':status': 200 });
        await sendRows(stream, answer, paceOf(stream));
      } finally {
        reserved?.free();
        leave(chars);
        statements.release();
      }
    },
    /** Its turn ends with its statement: one that asks for more while it reads rows would wait for itself. */
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
      await sendBatches(stream, batches, paceOf(stream), told);
    },
  };
}

async function sendRows(
  stream: ServerHttp2Stream,
  { texts, changed }: { texts: readonly string[]; changed: number | null },
  pace: ReaderPace,
): Promise<void> {
  const last = `],"changed":${changed}}`;
  let pending = '{"rows":[';
  for (const [i, text] of texts.entries()) {
    if (i > 0) {
      await sendText(stream, pending, pace);
      pending = ',';
    }
    pending += text;
  }
  await endText(stream, pending + last, pace);
}

/**
 * Parts of a kind and a length in characters, on a line of their own before each: `r` rows with commas between them, `e` what went wrong,
 * `.` the end. An answer without one of the last two broke off.
 */
async function sendBatches(
  stream: ServerHttp2Stream,
  batches: AsyncIterable<string[]>,
  pace: ReaderPace,
  told: (error: unknown) => object,
): Promise<void> {
  let last = '.0\n';
  const unread = new AbortController();
  try {
    for await (const texts of batches) {
      for (const text of texts) {
        await sendText(stream, `r${text.length}\n${text}`, pace).catch((error: unknown) => {
          unread.abort();
          throw error;
        });
      }
      if (pace.gone.aborted) return;
    }
  } catch (error) {
    if (unread.signal.aborted) return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    const failure = JSON.stringify(told(error));
    last = `e${failure.length}\n${failure}`;
  }
  await endText(stream, last, pace);
}
