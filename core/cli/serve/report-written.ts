/** Reports to the service how far the journal is written: several writes in one message, since a message for each would cost more than it gains. */
import type { WrittenListener } from '../../capture/journal-writer.ts';
import type { FromChild } from './messages.ts';

const REPORT_MS = 10;

export type WrittenReport = {
  note: WrittenListener;
  /** Reports at once what was noted last, and settles when that was sent. */
  flush(): Promise<void>;
};

export function reportWritten(send: (message: FromChild) => Promise<void>): WrittenReport {
  let latest: Extract<FromChild, { kind: 'written' }> | null = null;
  let timer: NodeJS.Timeout | null = null;
  const flush = async () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const message = latest;
    latest = null;
    if (message) await send(message);
  };
  return {
    note: (segment, byteOffset, ended) => {
      latest = { kind: 'written', segment, byteOffset, ended: ended || latest?.ended === true };
      timer ??= setTimeout(() => void flush(), REPORT_MS);
    },
    flush,
  };
}
