/** Receives a server's notifications on a connection of its own, which is opened again after a loss. */
import type postgres from 'postgres';
import { channelListeners } from './channel-listeners.ts';
import { client } from './server-client.ts';

const RETRY_MS = 1000;

export type NotificationListener = {
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Connects at the first `listen`. Notifications while the connection is lost are missed. */
export function listenOnServer(dsn: string): NotificationListener {
  const listeners = channelListeners();
  let connection: postgres.Sql | undefined;
  let closed = false;
  let retryTimer: NodeJS.Timeout | undefined;

  const connect = () => {
    const opened = client(dsn, {
      idle_timeout: 0,
      onnotify: listeners.notify,
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
      Promise.all(listeners.channels().map((channel) => opened.unsafe(`listen ${quoted(channel)}`))).catch(() => {
        if (connection === opened) reconnect();
      });
    }, RETRY_MS);
    retryTimer.unref();
  };

  return {
    async listen(channel, listener) {
      const { isFirst, remove } = listeners.add(channel, listener);
      if (isFirst && !retryTimer) {
        const opened = connection ?? connect();
        await opened.unsafe(`listen ${quoted(channel)}`).catch(() => {
          if (connection === opened) reconnect(); // notifications are hints only: they arrive once the server is back
        });
      }
      return async () => {
        if (remove()) await connection?.unsafe(`unlisten ${quoted(channel)}`).catch(() => undefined);
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
