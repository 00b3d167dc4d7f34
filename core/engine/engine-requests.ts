/** The requests to the engine's thread that wait for their response: each has a number, a deadline, and ends with the thread. */
import type { FromEngine, ToEngine } from './messages.ts';

export type EngineRequest =
  | { kind: 'drain' }
  | { kind: 'metrics' }
  | { kind: 'decode'; body: Uint8Array; contentEncoding: string }
  | { kind: 'ingest' | 'transcript'; body: Uint8Array; subject: string | null };

export type EngineRequests = {
  /** Sends a request and waits for its response; null when the engine died meanwhile or the deadline passed. */
  request(payload: EngineRequest, deadlineMs: number, transfer?: readonly ArrayBuffer[]): Promise<FromEngine | null>;
  /** Hands a response to its request. */
  settle(id: number, message: FromEngine): void;
  /** Ends all that wait: the thread is gone. */
  abandon(): void;
};

/** @param send false: there is no thread at the moment */
export function openEngineRequests(
  send: (message: ToEngine, transfer: readonly ArrayBuffer[]) => boolean,
): EngineRequests {
  let nextId = 1;
  const pending = new Map<number, (message: FromEngine | null) => void>();
  return {
    request: (payload, deadlineMs, transfer = []) =>
      new Promise((resolve) => {
        const id = nextId++;
        const timer = setTimeout(() => settle(null), deadlineMs);
        const settle = (message: FromEngine | null) => {
          clearTimeout(timer);
          pending.delete(id);
          resolve(message);
        };
        pending.set(id, settle);
        if (!send({ ...payload, id }, transfer)) settle(null);
      }),
    settle: (id, message) => pending.get(id)?.(message),
    abandon: () => {
      for (const settle of pending.values()) settle(null);
    },
  };
}
