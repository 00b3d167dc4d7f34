/** Receives a server's notifications on a connection of its own, which is opened again after a loss. */
import type postgres from 'postgres';
import { client } from './server-client.ts';

const RETRY_MS = 1000;

export type NotificationListener = {
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Connects at the first `listen`. Notifications while the connection is lost are missed. */
export function listenOnServer(dsn: string): NotificationListener {
  const listeners = new Map<string, Set<(payload: string) => void>>();
  let connection: postgres.Sql | undefined;
  let closed = false;
  let retryTimer: NodeJS.Timeout | undefined;

  const connect = () => {
    const opened = client(dsn, {
      idle_timeout: 0,
      onnotify: (channel, payload) => {
        for (const listener of listeners.get(channel) ?? []) listener(payload);
      },
      onclose: () => {
        if (connection === opened) reconnect();
      },
    });
    connection = opened;
    return opened;
  };
  const reconnect = () => {
    void connection?.end({ timeout: 0 });
    connection = undefined;
    if (closed || retryTimer) return;
    retryTimer = setTimeout(() => {
      retryTimer = undefined;
      const opened = connect();
      Promise.all([...listeners.keys()].map((channel) => opened.unsafe(`listen ${quoted(channel)}`))).catch(() => {
        if (connection === opened) reconnect();
      });
    }, RETRY_MS);
    retryTimer.unref();
  };

  return {
    async listen(channel, listener) {
      const existing = listeners.get(channel);
      const channelListeners = existing ?? new Set<typeof listener>();
      channelListeners.add(listener);
      listeners.set(channel, channelListeners);
      if (!existing && !retryTimer) {
        const opened = connection ?? connect();
        await opened.unsafe(`listen ${quoted(channel)}`).catch(() => {
          if (connection === opened) reconnect(); // notifications are hints only: they arrive once the server is back
        });
      }
      return async () => {
        channelListeners.delete(listener);
        if (channelListeners.size > 0 || listeners.get(channel) !== channelListeners) return;
        listeners.delete(channel);
        await connection?.unsafe(`unlisten ${quoted(channel)}`).catch(() => undefined);
      };
    },
    async close() {
      closed = true;
      clearTimeout(retryTimer);
      const last = connection;
      connection = undefined;
      await last?.end({ timeout: 5 });
    },
  };
}

const quoted = (channel: string) => `"${channel.replaceAll('"', '""')}"`;
