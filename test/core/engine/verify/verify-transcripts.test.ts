/** Verification of a session that its transcripts tell: its nodes are held against the files, beside those of calls over the wire. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import { openCheckedSlices } from '../../../../core/engine/verify/checked-slices.ts';
import { type SessionVerified, verifySession } from '../../../../core/engine/verify/verify-session.ts';
import { takeIn } from '../../../support/captured-calls.ts';
import { compactionCall } from '../../../support/claude-wire.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { claudeChat, SESSION_ID } from '../../../support/transcript-records.ts';
import { testTranscripts, type UploadedMessage, upload } from '../../../support/transcript-uploads.ts';

const session = { harness_id: 'claude', harness_session_id: SESSION_ID };

databaseSuite('verify transcripts', (test, database) => {
  let session_id: string;
  const uploaded = async (...files: UploadedMessage[]) => {
    session_id = (await upload(testTranscripts(database()), ...files))[0]?.session_id ?? '';
  };
  const verify = async (): Promise<SessionVerified> => {
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    const verified = await verifySession(verifier, session_id, null);
    if (!verified) throw new Error('the session is there');
    return verified;
  };

  test.before.each(async () => {
    await database().reset();
    await uploaded({ session, records: claudeChat(3) });
    await deriveAll(database());
  });

  test('the nodes of a projected transcript are what its file says', async () => {
    const { breaks, nodes, outdated, nodes_checked } = await verify();
    assert.equal({ breaks, nodes, outdated, nodes_checked }, { breaks: 0, nodes: 6, outdated: 0, nodes_checked: true });
  });

  test('so they are beside calls over the wire that repeat them', async () => {
    await takeIn(database(), [compactionCall(40)]);
    await deriveAll(database());
    const { breaks, nodes } = await verify();
    assert.equal([breaks, nodes], [0, 8]);
  });

  test('a node that was altered, and one that was put in, are named', async () => {
    await database().sql(
      `update svc.nodes set output_tokens = output_tokens + 1 where role = 'assistant' and depth = 1`,
    );
    const altered = await verify();
    assert.is(altered.breaks, 1);
    assert.match(altered.first_breaks[0]?.what ?? '', /output_tokens/);
    await database().sql(
      `update svc.nodes set output_tokens = output_tokens - 1 where role = 'assistant' and depth = 1`,
    );
    await database().sql(`
      insert into svc.nodes (session_id, node_hash, parent_hash, raw_turn_id, call_id, position, depth, role, model, provider,
                             agent_name, project, is_root, is_head, requested_at, created_at)
      select session_id, decode(repeat('ab', 32), 'hex'), node_hash, raw_turn_id, call_id, 9, depth + 1, 'user', model, provider,
             agent_name, project, false, false, requested_at, created_at
        from svc.nodes where is_head`);
    const added = await verify();
    assert.equal([added.breaks, added.first_breaks[0]?.what], [1, 'no turn says it']);
  });

  test('a node that is gone is missed', async () => {
    await database().sql('delete from svc.nodes where is_head');
    const { breaks, first_breaks } = await verify();
    assert.equal([breaks, first_breaks[0]?.what], [1, 'the node is gone']);
  });

  test('a file that nobody has derived yet is no tampering', async () => {
    await uploaded({ session, records: claudeChat(4) });
    assert.is((await verify()).breaks, 0);
    await deriveAll(database());
    const { breaks, nodes } = await verify();
    assert.equal([breaks, nodes], [0, 8]);
  });

  test('a byte of the file that was flipped is found in its slice', async () => {
    const [slice] = await database().sql(`
      select encode(s.slice_id, 'hex') as id from svc.slices s where s.size_bytes > 100 order by s.size_bytes desc limit 1`);
    await database().sql(
      `
      update svc.slices set bytes = set_byte(bytes, octet_length(bytes) / 2, get_byte(bytes, octet_length(bytes) / 2) # 1)
       where slice_id = decode($1, 'hex')`,
      [slice?.id],
    );
    assert.ok((await verify()).breaks > 0);
  });
});
