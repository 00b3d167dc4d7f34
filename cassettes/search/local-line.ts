/** In which order are texts embedded by a local model? One at a time, and those first that somebody waits for. */

type Job = { text: string; done(vector: Float32Array): void; failed(error: unknown): void };

export type Line = {
  embed(text: string, urgent: boolean): Promise<Float32Array>;
  /** Fails all that wait. */
  end(error: Error): void;
};

/** `working` and `resting`: it has something to do, it has nothing more to do. */
type Given = {
  work(text: string): Promise<Float32Array>;
  working?(): void;
  resting?(): void;
};

export function openLine({ work, working = () => {}, resting = () => {} }: Given): Line {
  const waiting: Job[] = [];
  let current: Job | undefined;

  const next = async (): Promise<void> => {
    if (current) return;
    working();
    for (current = waiting.shift(); current; current = waiting.shift()) {
      const { text, done, failed } = current;
      await work(text).then(done, failed);
    }
    resting();
  };
  return {
    embed: (text, urgent) =>
      new Promise((done, failed) => {
        const job = { text, done, failed };
        if (urgent) waiting.unshift(job);
        else waiting.push(job);
        void next();
      }),
    end(error) {
      for (const job of [...(current ? [current] : []), ...waiting.splice(0)]) job.failed(error);
    },
  };
}
