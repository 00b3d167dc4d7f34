/** How do a cassette's statements reach the embedded database? As questions to its thread, under the cassette's name. */
import type { OpenDatabase } from '../open.ts';
import { nextCount } from './batches.ts';
import type { Calls } from './cassette-db.ts';

let asked = 0; // in this process, so that a label is used once

export function embeddedCalls(database: OpenDatabase, name: string): Calls {
  const labelled = (limitMs: number) => {
    asked += 1;
    return { limitMs, label: `cassette ${name} ${asked}` };
  };
  return {
    run: (call, limitMs) => database.ask('callCassette', call, labelled(limitMs)),
    async *stream(call, limitMs) {
      let count = nextCount([], 0);
      asked += 1;
      const opening = { ...call, cursor: `cassette_rows_${asked}`, count };
      const { lines: first, cursor } = await database.ask('openCassetteCursor', opening, labelled(limitMs));
      if (cursor === null) {
        yield first;
        return;
      }
      let ended = false;
      try {
        for (let lines = first; !ended; ) {
          yield lines;
          const wanted = nextCount(lines, count);
          count = wanted;
          lines = await database.ask('fetchCassetteCursor', { cursor, count }, labelled(limitMs));
          ended = lines.length < wanted;
          if (ended) yield lines;
        }
      } finally {
        await database.ask('closeCassetteCursor', { cursor }).catch(() => undefined); // it went with its thread
      }
    },
  };
}
