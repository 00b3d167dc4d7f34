/** Large transcripts are derived one after another: each takes some eight times its size in memory, and every lane may have one. */
import type { Database } from '../../db/database.ts';

/** The embedded database has twice the lanes for them (derive/lanes.ts). */
const LARGE_BYTES = { embedded: 16 * 1024 * 1024, server: 32 * 1024 * 1024 };

/** Another large transcript is being derived; this session is to be tried later. */
export class Postponed extends Error {
  override readonly name = 'Postponed';
}

export type LargeTranscripts = {
  /** For one session: `enter` before its files are read, `leave` when nothing of them is in use any more. */
  entrance(session_id: string): { enter(): Promise<void>; leave(): void };
};

export function openLargeTranscripts(
  { execute, kind }: Pick<Database, 'execute' | 'kind'>,
  largeBytes = LARGE_BYTES[kind],
): LargeTranscripts {
  let within: object | null = null;
  return {
    entrance(session_id) {
      const own = {};
      return {
        /** @throws {Postponed} */
        async enter() {
          if (within === own || (await execute('transcriptBytes', { session_id })) < largeBytes) return;
          if (within !== null) throw new Postponed('Cannot derive a large transcript: another one is being derived');
          within = own;
        },
        leave() {
          if (within === own) within = null;
        },
      };
    },
  };
}
