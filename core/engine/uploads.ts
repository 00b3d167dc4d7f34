/**
 * Uploads of transcripts under way, for which derivation waits: a person waits for a folder to be stored, and nobody yet for what it holds.
 * Both take the same thread, so that an upload beside four derivations takes as long as all of them.
 */

export type Uploads = {
  /** Runs what stores an upload. */
  storing<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no upload has been under way for a moment, after `mostMs`, or at the signal. */
  passed(mostMs: number, signal: AbortSignal): Promise<void>;
};

/** A sender's next upload comes this soon after the response to the one before. */
const QUIET_MS = 20;

export function openUploads(): Uploads {
  let underWay = 0;
  let quietTimer: NodeJS.Timeout | undefined;
  const waiting = new Set<() => void>();

  const begin = () => {
    underWay++;
    clearTimeout(quietTimer);
    quietTimer = undefined;
  };
  const end = () => {
    underWay--;
    if (underWay > 0) return;
    quietTimer = setTimeout(() => {
      quietTimer = undefined;
      for (const pass of [...waiting]) pass();
    }, QUIET_MS);
  };
  return {
    storing: (work) => {
      begin();
      return work().finally(end);
    },
    passed: (mostMs, signal) =>
      new Promise((done) => {
        const isQuiet = underWay === 0 && quietTimer === undefined;
        if (isQuiet || signal.aborted) return done();
        const pass = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', pass);
          waiting.delete(pass);
          done();
        };
        const timer = setTimeout(pass, mostMs);
        signal.addEventListener('abort', pass, { once: true });
        waiting.add(pass);
      }),
  };
}
