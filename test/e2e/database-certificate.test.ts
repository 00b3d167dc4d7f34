/** The certificate of the database is changed for one that is not trusted: calls wait, senders come again, and nothing is lost. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cert, key } from '../proxy/local-tls.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { acceptance, plainTurn, postTurn, rawTurnsOf } from '../support/post-turns.ts';
import { emptyFolder, eventually, removeFolder, type Service, startService } from '../support/serve.ts';
import { startTlsRelay, type TlsRelay, unknownIdentity } from '../support/tls-relay.ts';

type Context = { service: Service; relay: TlsRelay; undo: (() => Promise<unknown>)[] };

const cluster = process.env.SVC_TEST_DSN ?? '';
const test = suite<Context>('a certificate of the database that is not trusted (server)');

test.before(async (context) => {
  context.undo = [];
  const { dsn, drop } = await emptyServerDatabase(cluster);
  context.undo.unshift(drop);
  context.relay = await startTlsRelay(dsn, { key, cert });
  context.undo.unshift(context.relay.close);
  const folder = await emptyFolder();
  context.undo.unshift(() => removeFolder(folder));
  writeFileSync(join(folder, 'ca.pem'), cert);
  context.service = await startService(folder, {
    SVC_STORAGE_POSTGRES_DSN: context.relay.through(dsn, 'localhost', 'sslmode=verify-full'),
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  });
  context.undo.unshift(async () => assert.is(await context.service.stop(), 0));
});
test.after(async ({ undo }) => {
  for (const step of undo) await step();
});

test('ingest and read API answer 503 with Retry-After, until the certificate is trusted again', async ({
  service,
  relay,
}) => {
  acceptance(await postTurn(service, plainTurn('before')));
  relay.present(unknownIdentity);
  relay.reset();
  for (let n = 0; n < 2; n++) {
    const { status, headers, text } = await postTurn(service, plainTurn('meanwhile'));
    assert.equal(
      [status, headers.get('retry-after'), text],
      [503, '1', '{"error":"Cannot keep the turn: the database is not available"}'],
    );
    const read = await fetch(`${service.api}/v1/sessions`);
    assert.equal([read.status, read.headers.has('retry-after')], [503, true], await read.text());
  }
  relay.present({ key, cert });
  const { session_id, deduped } = await eventually('the turn to be accepted', async () => {
    const posted = await postTurn(service, plainTurn('meanwhile'));
    return posted.status === 503 ? null : acceptance(posted);
  });
  assert.is(deduped, false);
  assert.is((await rawTurnsOf(service, session_id)).length, 1);
});

if (cluster === '')
  console.log('skip: a certificate of the database that is not trusted (server): SVC_TEST_DSN is not set');
else test.run();
