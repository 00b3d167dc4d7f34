/** A disk that is really full, the journal and the embedded database on it. (Long: `npm run soak -- disk`.) */
import { suite } from 'uvu';
import { diskFull } from '../support/faults/full-disk.ts';
import { inOwnMounts } from '../support/faults/own-mounts.ts';

const MIB = 1_048_576;
const SCALE = { times: 1, fullMs: 2_000, perSecond: 40 };

const elsewhere = inOwnMounts();
if (typeof elsewhere === 'number') process.exitCode = elsewhere;
else if (elsewhere !== null) console.log(`skip: a full disk: ${elsewhere}`);
else {
  declare('embedded', '', 120 * MIB);
  if (process.env.SVC_TEST_DSN) declare('server', process.env.SVC_TEST_DSN, 16 * MIB);
  else console.log('skip: a full disk (server): SVC_TEST_DSN is not set');
}

function declare(name: string, cluster: string, diskBytes: number): void {
  const test = suite(`a full disk (${name})`);
  test('calls pass, what is not kept is counted, and when there is room capture goes on and all is as it was', async () => {
    await diskFull({ cluster }, { ...SCALE, diskBytes });
  });
  test.run();
}
