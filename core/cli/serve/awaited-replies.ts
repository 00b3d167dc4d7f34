/** Requests over a channel that carries messages both ways: each has a number, by which its reply is recognised. */

export type AwaitedReplies = {
  /** Sends a request, and settles when its reply has come, or after `withinMs` without one. */
  request(): Promise<void>;
  /** A reply has come. */
  came(id: number): void;
};

export function awaitedReplies(send: (id: number) => void, withinMs: number): AwaitedReplies {
  let lastId = 0;
  const waiting = new Map<number, () => void>();
  return {
    request: async () => {
      const id = ++lastId;
      await new Promise<void>((done) => {
        const timer = setTimeout(done, withinMs);
        waiting.set(id, () => {
          clearTimeout(timer);
          done();
        });
        send(id);
      });
      waiting.delete(id);
    },
    came: (id) => waiting.get(id)?.(),
  };
}
