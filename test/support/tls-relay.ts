/** A relay before a database without TLS that speaks TLS as PostgreSQL does: after an SSLRequest, with a certificate that can be changed. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** PEM. `clientCa`: whoever connects needs a certificate of this authority. */
export type TlsIdentity = { key: string; cert: string; clientCa?: string };

export type TlsRelay = {
  /** The address of a database, changed to go through the relay. @param host a name of this machine @param query such as 'sslmode=require' */
  through(dsn: string, host: string, query: string): string;
  /** Of connections from now on. */
  present(identity: Pick<TlsIdentity, 'key' | 'cert'>): void;
  /** Ends all connections; new ones are taken. */
  reset(): void;
  close(): Promise<void>;
};

/** @param dsn of the target */
export async function startTlsRelay(dsn: string, { clientCa, ...identity }: TlsIdentity): Promise<TlsRelay> {
  const { hostname, port: targetPort } = new URL(dsn);
  const sockets = new Set<Socket>();
  const known = <S extends Socket>(socket: S): S => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    return socket;
  };
  const secure = createTlsServer({ ...identity, ...(clientCa && { ca: clientCa, requestCert: true }) }, (near) => {
    const far = known(connect(Number(targetPort || 5432), hostname));
    known(near).pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  secure.on('tlsClientError', () => {});
  const server = createServer((socket) => {
    known(socket).once('data', () => {
      socket.write('S');
      secure.emit('connection', socket);
    });
  }).listen(0); // by each name of this machine
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const reset = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    through: (of, host, query) => {
      const url = new URL(of);
      url.hostname = host;
      url.port = String(port);
      return `${url.href}?${query}`;
    },
    present: (other) => secure.setSecureContext(other),
    reset,
    async close() {
      const closed = new Promise((done) => server.close(done));
      reset();
      await closed;
    },
  };
}

/** A key and a self-signed certificate for localhost, of an authority that nobody knows. */
export const unknownIdentity: TlsIdentity = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgS7L3Re+XhON57di7
vyZsbRIonr3xZwS1HBdo8L7ZakWhRANCAATAZTwViTz4+/EDTcQJKOw2VTdErASp
z73Ta+R8BmMTv92SHAR4lHU5bGU5ipSs2kcIP3X1LqmF+Dft9sk4jt3+
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBrzCCAVWgAwIBAgIUFvL7phZkIdRlIXhxEX3/Q1rVD5wwCgYIKoZIzj0EAwIw
HjEcMBoGA1UEAwwTYW5vdGhlciB0ZXN0IG9mIHN2YzAgFw0yNjExMzAwODIxMjla
GA8yMTI2MTEwNjA4MjEyOVowHjEcMBoGA1UEAwwTYW5vdGhlciB0ZXN0IG9mIHN2
YzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMBlPBWJPPj78QNNxAko7DZVN0Ss
BKnPvdNr5HwGYxO/3ZIcBHiUdTlsZTmKlKzaRwg/dfUuqYX4N+32yTiO3f6jbzBt
MB0GA1UdDgQWBBRq1C0a51NwUG8KXjmlPBUOTWwTozAfBgNVHSMEGDAWgBRq1C0a
51NwUG8KXjmlPBUOTWwTozAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCCWxv
Y2FsaG9zdIcEfwAAATAKBggqhkjOPQQDAgNIADBFAiEA6b3f9vEYweGd209KLAFO
APSuF+6tLNcFTgwX6t4tcAoCIDwnoXmA+LrnYA/NKsAdVu6GShtXyqL1h0YUr8rp
1SpZ
-----END CERTIFICATE-----
`,
};
