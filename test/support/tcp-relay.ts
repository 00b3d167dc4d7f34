/** A relay between a service and its database that can be cut: connections are then refused, as by a server that is down. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Relay = {
  /** The address of a database, changed to go through the relay. */
  through(dsn: string): string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Resets all connections, in the middle of what is sent; new ones are taken. */
  reset(): void;
  /** Holds back what the database sends, on all connections: as if it were gone without a word. */
  hold(): void;
};

/** @param dsn of the target */
export async function startRelay(dsn: string): Promise<Relay> {
  const { hostname, port: targetPort } = new URL(dsn);
  const ends = new Set<Socket>();
  const fromDatabase = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(targetPort || 5432), hostname);
    fromDatabase.add(far.on('close', () => fromDatabase.delete(far)));
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      end.pipe(other);
      end
        .on('error', () => {})
        .on('close', () => {
          ends.delete(end);
          other.destroy();
        });
    }
  });
  const listen = (port: number) => new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    through: (dsn) => {
      const url = new URL(dsn);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    cut: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const end of ends) end.destroy();
      }),
    mend: () => listen(port),
    hold: () => {
      for (const far of fromDatabase) far.unpipe();
    },
    reset: () => {
      for (const end of ends) end.resetAndDestroy();
    },
  };
}
