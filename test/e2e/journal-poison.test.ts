/** A poison turn in a batch: the rest is stored, and it is set aside with its bytes and the reason. (Long: `npm run soak -- poison`.) */
import { suite } from 'uvu';
import { poisonAmongOthers } from '../support/faults/poison-turn.ts';

const SCALE = { calls: 60, poison: 3 };

function declare(name: string, cluster: string): void {
  const test = suite(`a poison turn (${name})`);
  test('the turns around it are stored, and it is set aside whole until what refuses it is mended', async () => {
    await poisonAmongOthers({ cluster }, SCALE);
  });
  test.run();
}

declare('embedded', '');
if (process.env.SVC_TEST_DSN) declare('server', process.env.SVC_TEST_DSN);
else console.log('skip: a poison turn (server): SVC_TEST_DSN is not set');
