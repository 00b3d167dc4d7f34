/** The journal as the service sees it: which run the proxy is writing and how far, from the messages that the parent passes on. */
import type { Engine } from '../../engine/engine.ts';
import type { LiveRun } from '../../engine/messages.ts';
import type { ParentLink } from './parent-link.ts';

export type LiveJournal = {
  /** Resolves with the run that is written now, once a proxy writes one: until then it is unknown which files are still written. */
  begun: Promise<void>;
  current(): LiveRun;
  /** Bytes on disk at which the journal is full, as its proxy has it; without one it never is. */
  maxBytes(): number;
  /** From now on the engine hears what comes. */
  attach(engine: Engine): void;
};

export function openLiveJournal(link: ParentLink): LiveJournal {
  let live: LiveRun | null = null;
  let maxBytes = Number.POSITIVE_INFINITY;
  let engine: Engine | null = null;
  let hasEnded = false; // some call of this run, before the engine heard what comes
  let begin = () => {};
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  link.receive((message) => {
    if (message.kind === 'run') {
      live = { runId: message.runId, written: null };
      maxBytes = message.maxBytes;
      hasEnded = false;
      engine?.run(message.runId);
      begin();
    } else if (message.kind === 'written') {
      const { segment, byteOffset, ended } = message;
      if (live) live = { ...live, written: { segment, byteOffset } };
      if (!engine && ended) hasEnded = true;
      engine?.written(segment, byteOffset, ended);
    } else if (message.kind === 'busy') engine?.busy(message.listeners);
  });
  return {
    begun,
    maxBytes: () => maxBytes,
    current: () => {
      if (!live) throw new Error('Cannot read the journal: no process writes it yet');
      return live;
    },
    attach: (reader) => {
      engine = reader;
      if (hasEnded && live?.written) reader.written(live.written.segment, live.written.byteOffset, true); // else nobody would know that it waits
    },
  };
}
