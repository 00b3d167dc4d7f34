/** A call that stays open holds no more of the journal than it has said itself. (Long: `npm run soak -- stream`.) */
import { suite } from 'uvu';
import { openCallBesideTraffic } from '../support/faults/long-stream.ts';

const MIB = 1_048_576;
const SCALE = { maxBytes: 6 * MIB, passBytes: 12 * MIB };

function declare(name: string, cluster: string): void {
  const test = suite(`a long stream beside heavy traffic (${name})`);
  test('the journal stays below its cap, nothing is refused, and the stream is stored whole when it ends', async () => {
    await openCallBesideTraffic({ cluster }, SCALE);
  });
  test.run();
}

declare('embedded', '');
if (process.env.SVC_TEST_DSN) declare('server', process.env.SVC_TEST_DSN);
else console.log('skip: a long stream beside heavy traffic (server): SVC_TEST_DSN is not set');
