/** The holders of connections to the embedded database: each has a control port, over which it gets its port to the current thread. */
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import type { HostCommand, HostNotice } from './ports.ts';

type Holders = {
  /** The control port of a new holder. Without a thread it gets its port to one when there is one. */
  open(thread: Worker | undefined): MessagePort;
  sendPorts(thread: Worker): void;
  notify(notice: HostNotice): void;
  close(): void;
};

export function openHolders(): Holders {
  const holders = new Set<MessagePort>();
  return {
    open(thread) {
      const { port1, port2 } = new MessageChannel();
      holders.add(port1);
      port1.on('close', () => holders.delete(port1));
      port1.unref();
      if (thread) sendPort(port1, thread);
      return port2;
    },
    sendPorts(thread) {
      for (const holder of holders) sendPort(holder, thread);
    },
    notify(notice) {
      for (const holder of holders) holder.postMessage(notice);
    },
    close() {
      for (const holder of holders) {
        holder.postMessage({ closed: true } satisfies HostNotice);
        holder.close();
      }
    },
  };
}

function sendPort(holder: MessagePort, thread: Worker): void {
  const { port1, port2 } = new MessageChannel();
  thread.postMessage({ holder: port1 } satisfies HostCommand, [port1]);
  holder.postMessage({ port: port2 } satisfies HostNotice, [port2]);
}
