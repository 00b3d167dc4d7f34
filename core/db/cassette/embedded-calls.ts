/** How do a cassette's statements reach the embedded database? As questions to its thread, under the cassette's name, one at a time. */
import { DatabaseError } from '../../errors.ts';
import type { Semaphore } from '../../semaphore.ts';
import type { OpenDatabase } from '../open.ts';
import type { Calls } from './cassette-db.ts';

let asked = 0; // in this process, so that a label is used once

type Deps = { database: OpenDatabase; name: string; builtIn: boolean; statements: Semaphore };

/** What one of its questions is called, and whose time it takes. */
export function labelled(name: string, builtIn: boolean, limitMs: number) {
  asked += 1;
  return { limitMs, label: `cassette ${name} ${asked}`, owner: builtIn ? null : name };
}

export function embeddedCalls({ database, name, builtIn, statements }: Deps): Calls {
  const alone = async <T>(limitMs: number, work: () => Promise<T>): Promise<T> => {
    if (builtIn) return work();
    await statements.acquire();
    let owedMs = 0;
    try {
      return await work();
    } catch (error) {
      if (error instanceof DatabaseError && error.sqlstate === '57014') owedMs = limitMs; // the thread that counts its time ended with it
      throw error;
    } finally {
      if (owedMs === 0) statements.release();
      else setTimeout(statements.release, owedMs).unref();
    }
  };
  return {
    run: (call, limitMs) =>
      alone(limitMs, () => database.execute('callCassette', call(), labelled(name, builtIn, limitMs))),
    async *stream(call, limitMs) {
      asked += 1;
      const cursor = `cassette_rows_${asked}`;
      const opened = await alone(limitMs, () =>
        database.execute(
          'openCassetteCursor',
          { ...call(), cursor, unbounded: builtIn },
          labelled(name, builtIn, limitMs),
        ),
      );
      if (opened.cursor === null) {
        yield opened.texts;
        return;
      }
      try {
        let { texts, ended }: { texts: string[]; ended: boolean } = { ...opened, ended: false };
        for (;;) {
          yield texts;
          if (ended) return;
          ({ texts, ended } = await alone(limitMs, () =>
            database.execute('fetchCassetteCursor', { cursor }, labelled(name, builtIn, limitMs)),
          ));
        }
      } finally {
        await database.execute('closeCassetteCursor', { cursor }).catch(() => undefined); // it went with its thread
      }
    },
  };
}
