/** The listeners of notifications, by channel. */

export type Listener = (payload: string) => void;

export type ChannelListeners = {
  channels(): string[];
  notify(channel: string, payload: string): void;
  /** @returns whether the channel had none before, and what removes it: true when it was the channel's last */
  add(channel: string, listener: Listener): { isFirst: boolean; remove(): boolean };
};

export function channelListeners(): ChannelListeners {
  const byChannel = new Map<string, Set<Listener>>();
  return {
    channels: () => [...byChannel.keys()],
    notify(channel, payload) {
      for (const listener of byChannel.get(channel) ?? []) listener(payload);
    },
    add(channel, listener) {
      const existing = byChannel.get(channel);
      const listeners = existing ?? new Set<Listener>();
      listeners.add(listener);
      byChannel.set(channel, listeners);
      return {
        isFirst: existing === undefined,
        remove() {
          listeners.delete(listener);
          return listeners.size === 0 && byChannel.get(channel) === listeners && byChannel.delete(channel);
        },
      };
    },
  };
}
