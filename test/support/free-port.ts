/** A port for a program whose address has to be known before it starts. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that the kernel gives to whoever asks for any: no other test is given it before the program starts. */
const [FROM, TO] = [20_000, 32_000];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer()
      .once('error', () => done(false))
      .listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
