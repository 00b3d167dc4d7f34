/** A cassette's statements on the embedded database: operations in its thread, under the cassette's name, one at a time. */

import type { CassetteCalls } from '../../db/cassette/call.ts';
import type { OpenDatabase } from '../../db/open.ts';
import { QUERY_CANCELED } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import type { Semaphore } from '../../semaphore.ts';

let callCount = 0; // of this process, so that each label is unique

type Deps = { database: OpenDatabase; name: string; builtIn: boolean; statements: Semaphore };

/** The options of one call: its label, its limit, and whose time it takes. */
export function labelled(name: string, builtIn: boolean, limitMs: number) {
  callCount += 1;
  return { limitMs, label: `cassette ${name} ${callCount}`, owner: builtIn ? null : name };
}

export function embeddedCalls({ database, name, builtIn, statements }: Deps): CassetteCalls {
  const runExclusive = async <T>(limitMs: number, work: () => Promise<T>): Promise<T> => {
    if (builtIn) return work();
    await statements.acquire();
    let holdMs = 0;
    try {
      return await work();
    } catch (error) {
      if (error instanceof DatabaseError && error.sqlstate === QUERY_CANCELED) holdMs = limitMs; // the thread that charges the owner has ended
      throw error;
    } finally {
      if (holdMs === 0) statements.release();
      else setTimeout(statements.release, holdMs).unref();
    }
  };
  return {
    run: (call, limitMs) =>
      runExclusive(limitMs, () => database.execute('callCassette', call(), labelled(name, builtIn, limitMs))),
    async *stream(call, limitMs) {
      callCount += 1;
      const cursor = `cassette_rows_${callCount}`;
      const opened = await runExclusive(limitMs, () =>
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
          ({ texts, ended } = await runExclusive(limitMs, () =>
            database.execute('fetchCassetteCursor', { cursor }, labelled(name, builtIn, limitMs)),
          ));
        }
      } finally {
        await database.execute('closeCassetteCursor', { cursor }).catch(() => undefined); // gone if the thread ended
      }
    },
  };
}
