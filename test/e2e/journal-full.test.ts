/** The journal at its cap while the database is away, and what becomes of it when the database is back. (Long: `npm run soak -- journal`.) */
import { suite } from 'uvu';
import { journalFull } from '../support/faults/full-journal.ts';

const MIB = 1_048_576;

const test = suite('a full journal (server)');
const cluster = process.env.SVC_TEST_DSN ?? '';

test('calls pass and are counted; then all drains and capture goes on, in a journal of one MiB too', async () => {
  await journalFull({ cluster }, { maxBytes: MIB, times: 2, fullMs: 500 });
});

if (cluster === '') console.log('skip: a full journal (server): SVC_TEST_DSN is not set');
else test.run();
