/** Whose conversation a call that nobody names continues: its client is known by its digest, and by the key that version 0.1 gave it. */
import * as assert from 'uvu/assert';
import { clientDigest } from '../../../../core/capture/client-key.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';

const digestOf = (credential: string) => clientDigest({ credential, userAgent: '', project: '' });

/** The second call of a conversation, from a client as the journal has it. */
const continued = (client: Pick<JournalCall['opened'], 'client_key' | 'client_digest'>): JournalCall => {
  const call = capturedCall({ n: 2, request: chat('Hi', 'Hello', 'And?'), response: chatAnswer('Well') });
  return { ...call, opened: { ...call.opened, ...client } };
};

databaseSuite('the client of an unnamed call', (test, database) => {
  test.before.each(() => database().reset());

  const first = capturedCall({ n: 1, request: chat('Hi'), response: chatAnswer('Hello') }); // as version 0.1 wrote it
  const sessions = async () => (await database().sql('select session_id from svc.sessions')).length;

  test('a conversation of version 0.1 goes on, for the client that began it', async () => {
    await takeIn(database(), [first]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: first.opened.client_key })]);
    assert.is(await sessions(), 1);
  });

  test('and not for another one', async () => {
    await takeIn(database(), [first]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: 'ab'.repeat(32) })]);
    assert.is(await sessions(), 2);
  });

  test('with a digest alone, the same one is the same client', async () => {
    const opened = { ...first.opened, client_digest: digestOf('a'), client_key: '' };
    await takeIn(database(), [{ ...first, opened }]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: '' })]);
    assert.is(await sessions(), 1);
  });

  test.run();
});
