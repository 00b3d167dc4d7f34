/** Receives a server's notifications on a connection of its own, which is opened again after a loss. */
import type postgres from 'postgres';
import { channelListeners } from './channel-listeners.ts';
import { clientOpener } from './server-hosts.ts';

const RETRY_MS = 1000;

export type NotificationListener = {
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Connects at the first `listen`. Notifications while the connection is lost are missed. */
export function listenOnServer(dsn: string): NotificationListener {
  const listeners = channelListeners();
  const openClient = clientOpener(dsn);
  let connection: Promise<postgres.Sql> | undefined;
  let closed = false;
  let retryTimer: NodeJS.Timeout | undefined;

  const connect = () => {
    const opening = openClient({
      idle_timeout: 0,
      onnotify: listeners.notify,
      onclose: () => {
        if (connection === opening) reconnect();
      },
    });
    connection = opening;
    return opening;
  };
  const reconnect = () => {
    connection?.then((opened) => opened.end({ timeout: 0 })).catch(() => {});
    connection = undefined;
    if (closed || retryTimer) return;
    retryTimer = setTimeout(() => {
      retryTimer = undefined;
      const opening = connect();
      const listenAgain = (opened: postgres.Sql) =>
        Promise.all(listeners.channels().map((channel) => opened.unsafe(`listen ${quoted(channel)}`)));
      opening.then(listenAgain).catch(() => {
        if (connection === opening) reconnect();
      });
    }, RETRY_MS);
    retryTimer.unref();
  };

  return {
    async listen(channel, listener) {
      const { isFirst, remove } = listeners.add(channel, listener);
      if (isFirst && !retryTimer) {
        const opening = connection ?? connect();
        const listening = opening.then((opened) => opened.unsafe(`listen ${quoted(channel)}`));
        await listening.catch(() => {
          if (connection === opening) reconnect(); // notifications are hints only: they arrive once the server is back
        });
      }
      return async () => {
        if (remove())
          await connection?.then((opened) => opened.unsafe(`unlisten ${quoted(channel)}`)).catch(() => undefined);
      };
    },
    async close() {
      closed = true;
      clearTimeout(retryTimer);
      const last = connection;
      connection = undefined;
      await last?.then((opened) => opened.end({ timeout: 5 })).catch(() => {});
    },
  };
}

const quoted = (channel: string) => `"${channel.replaceAll('"', '""')}"`;
