/** The queue of a local model: texts are embedded one at a time, those first that somebody waits for. */

type Job = { text: string; done(vector: Float32Array): void; failed(error: unknown): void };

export type EmbedQueue = {
  embed(text: string, urgent: boolean): Promise<Float32Array>;
  /** Fails the current job and all that wait. */
  end(error: Error): void;
};

/** `onBusy`: a text has come in; `onIdle`: the queue is empty again. */
type QueueOptions = {
  work(text: string): Promise<Float32Array>;
  onBusy?(): void;
  onIdle?(): void;
};

export function openEmbedQueue({ work, onBusy = () => {}, onIdle = () => {} }: QueueOptions): EmbedQueue {
  const queue: Job[] = [];
  let current: Job | undefined;

  const next = async (): Promise<void> => {
    if (current) return;
    onBusy();
    for (current = queue.shift(); current; current = queue.shift()) {
      const { text, done, failed } = current;
      await work(text).then(done, failed);
    }
    onIdle();
  };
  return {
    embed: (text, urgent) =>
      new Promise((done, failed) => {
        const job = { text, done, failed };
        if (urgent) queue.unshift(job);
        else queue.push(job);
        void next();
      }),
    end(error) {
      for (const job of [...(current ? [current] : []), ...queue.splice(0)]) job.failed(error);
    },
  };
}
