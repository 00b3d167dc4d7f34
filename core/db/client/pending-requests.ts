/** The requests of one holder that have no reply yet, by their number. */
import type { PortRequest } from './ports.ts';

type Pending = { request: PortRequest; resolve(answer: unknown): void; reject(error: Error): void };

export type PendingRequests = {
  /** Numbers a request and sends it. It is pending only if `post` has not thrown. */
  send(requestFor: (id: number) => PortRequest, post: (request: PortRequest) => void): Promise<unknown>;
  requests(): PortRequest[];
  resolve(id: number, answer: unknown): void;
  reject(id: number, error: Error): void;
  /** Resolves when none is pending. */
  drained(): Promise<void>;
};

export function pendingRequests(): PendingRequests {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let onDrained = () => {};
  const take = (id: number) => {
    const entry = pending.get(id);
    pending.delete(id);
    if (pending.size === 0) onDrained();
    return entry;
  };
  return {
    send: (requestFor, post) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const request = requestFor(lastId);
        post(request);
        pending.set(lastId, { request, resolve, reject });
      }),
    requests: () => [...pending.values()].map(({ request }) => request),
    resolve: (id, answer) => take(id)?.resolve(answer),
    reject: (id, error) => take(id)?.reject(error),
    drained: async () => {
      if (pending.size > 0) await new Promise<void>((resolve) => (onDrained = resolve));
    },
  };
}
