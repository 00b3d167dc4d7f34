/** How are a server's notifications heard? On one connection of its own, which comes back after it was lost. */
import type postgres from 'postgres';
import { client } from './server-client.ts';

const RETRY_MS = 1000;

export type Ears = {
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Connects when first asked to listen. What is notified while the connection is away is not heard. */
export function listenOnServer(dsn: string): Ears {
  const listeners = new Map<string, Set<(payload: string) => void>>();
  let line: postgres.Sql | undefined;
  let closed = false;
  let again: NodeJS.Timeout | undefined;

  const connect = () => {
    const opened = client(dsn, {
      idle_timeout: 0,
      onnotify: (channel, payload) => {
        for (const heard of listeners.get(channel) ?? []) heard(payload);
      },
      onclose: () => {
        if (line === opened) comeBack();
      },
    });
    line = opened;
    return opened;
  };
  const comeBack = () => {
    void line?.end({ timeout: 0 });
    line = undefined;
    if (closed || again) return;
    again = setTimeout(() => {
      again = undefined;
      const opened = connect();
      Promise.all([...listeners.keys()].map((channel) => opened.unsafe(`listen ${quoted(channel)}`))).catch(() => {
        if (line === opened) comeBack();
      });
    }, RETRY_MS);
    again.unref();
  };

  return {
    async listen(channel, heard) {
      const known = listeners.get(channel);
      const mine = known ?? new Set<typeof heard>();
      mine.add(heard);
      listeners.set(channel, mine);
      if (!known && !again) {
        const opened = line ?? connect();
        await opened.unsafe(`listen ${quoted(channel)}`).catch(() => {
          if (line === opened) comeBack(); // a hint only: heard once the server is back
        });
      }
      return async () => {
        mine.delete(heard);
        if (mine.size > 0 || listeners.get(channel) !== mine) return;
        listeners.delete(channel);
        await line?.unsafe(`unlisten ${quoted(channel)}`).catch(() => undefined);
      };
    },
    async close() {
      closed = true;
      clearTimeout(again);
      const last = line;
      line = undefined;
      await last?.end({ timeout: 5 });
    },
  };
}

const quoted = (channel: string) => `"${channel.replaceAll('"', '""')}"`;
