/** Are transcripts left alone that would count a second time, and no others? */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { transcriptSources } from '../../../../core/cli/sync/harness/sources.ts';
import { withoutRecorded } from '../../../../core/cli/sync/recorded-before.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { type Served, serveApp } from '../../../../core/http/listen.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { insertRollups, insertSessions } from '../../../support/projection-rows.ts';
import { testApi } from '../../../support/read-api.ts';

databaseSuite('transcripts of what was recorded', (test, database) => {
  let home = '';
  let served: Served;
  test.before(async () => {
    home = mkdtempSync(join(tmpdir(), 'svc-recorded-'));
    const { fetch } = testApi({ execute: database().execute });
    served = await serveApp({ fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
  });
  test.after(async () => {
    await served.close(0);
    rmSync(home, { recursive: true, force: true });
  });
  test.before.each(() => database().reset());

  const record = async (n: number, agent_name: string, session: Record<string, unknown>) => {
    await insertSessions(database(), [{ n, ...session }]);
    await insertRollups(database(), [{ n, agent_name }]);
  };
  /** The harnesses that are left alone, at the read API of this address. */
  const held = async (address = served.addresses[0] ?? '') => {
    const flags = { 'client.api_target': address };
    const checked = await withoutRecorded(transcriptSources, loadConfig({ flags, env: {}, cwd: home, home }));
    return checked.flatMap((source) => {
      const why = source.notRead?.({ env: {}, home }) ?? '';
      return why.includes('--even-recorded') ? [source.harness] : [];
    });
  };

  test('where the proxy has recorded none of a harness, its files are sent', async () => {
    assert.equal(await held(), []);
    await record(1, 'gemini-cli', { harness_id: 'gemini-cli' }); // of its own files
    await record(2, 'claude', { harness_id: 'unknown' });
    assert.equal(await held(), []);
  });

  test('of a harness whose calls name no session, files are left alone once calls were recorded', async () => {
    await record(1, 'gemini-cli', { harness_id: 'unknown' });
    assert.equal(await held(), ['gemini-cli']);
    await record(2, 'pi', { harness_id: 'unknown' });
    assert.equal(await held(), ['gemini-cli', 'pi']);
  });

  test('where that cannot be read they are left alone as well', async () => {
    assert.equal(await held('http://127.0.0.1:9'), ['gemini-cli', 'pi']);
  });
});
