/** Which database or service `svc backup`, `verify` and `gc` use where the settings name both, and that they say which. */

import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { backUp } from '../../../core/cli/keep/backup.ts';
import { collectGarbage } from '../../../core/cli/keep/gc.ts';
import { printVerification } from '../../../core/cli/verify.ts';
import { type Flags, type LoadedConfig, loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';
import { databaseSuite } from '../../support/databases.ts';
import { emptyFolder, removeFolder } from '../../support/serve.ts';

databaseSuite('the source of what is read', (test, database) => {
  let cwd = '';
  let other: Server;
  let target = '';
  let requests = 0;

  test.before.each(async () => {
    cwd = await emptyFolder();
    await mkdir(join(cwd, '.svc'));
    requests = 0;
    other = createServer((request, response) => {
      requests += 1;
      response.writeHead(request.url === '/ping' ? 200 : 501, { 'content-type': 'application/json' });
      response.end(request.url === '/ping' ? '"pong"' : '{"error":"it is the other service"}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    target = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  });
  test.after.each(async () => {
    other.closeAllConnections();
    other.close();
    await removeFolder(cwd);
  });

  const outputs = () => {
    const printed = { out: '', err: '' };
    const io = {
      out: (text: string) => {
        printed.out += text;
      },
      err: (text: string) => {
        printed.err += text;
      },
      cwd,
    };
    return { printed, io };
  };

  type Sources = { flags?: Flags; env?: Record<string, string>; file?: string };
  async function loaded({ flags = {}, env = {}, file = '' }: Sources): Promise<LoadedConfig> {
    await writeFile(join(cwd, '.svc', 'config.toml'), `version = 0\n${file}`);
    return loadConfig({ flags: { ...flags, 'log.level': 'silent' }, env, cwd, home: cwd });
  }

  async function verifyBy(sources: Sources): Promise<'database' | 'service'> {
    requests = 0;
    const { printed, io } = outputs();
    const options = { session: null, head: null, json: false };
    const result = await printVerification(await loaded(sources), options, io).catch((error: unknown) => error);
    if (result === 0) {
      assert.match(printed.err, /^Database: PostgreSQL at [^@]+\/svc_test_\w+\n$/);
      assert.is(requests, 0, 'no service is asked for anything');
      return 'database';
    }
    assert.instance(result, OperatorError);
    assert.match((result as OperatorError).message, /it is the other service/);
    assert.is(printed.err, `Service: ${target}\n`);
    return 'service';
  }

  test('the stronger source wins, and of equal ones the database', async () => {
    const { dsn } = database();
    if (!dsn) return;
    const [inFile, named] = [`client.api_target = "${target}"\n`, `storage.postgres_dsn = "${dsn}"\n`];
    const [flagged, variable] = [{ 'storage.postgres_dsn': dsn }, { SVC_STORAGE_POSTGRES_DSN: dsn }];
    const other = { SVC_CLIENT_API_TARGET: target };
    assert.is(await verifyBy({ flags: flagged, env: other }), 'database');
    assert.is(await verifyBy({ flags: flagged, file: inFile }), 'database');
    assert.is(await verifyBy({ env: variable, file: inFile }), 'database');
    assert.is(await verifyBy({ env: { ...variable, ...other } }), 'database');
    assert.is(await verifyBy({ file: named + inFile }), 'database');
    assert.is(await verifyBy({ flags: { 'client.api_target': target }, env: variable }), 'service');
    assert.is(await verifyBy({ env: other, file: named }), 'service');
    assert.is(await verifyBy({ env: { ...other, SVC_STORAGE_POSTGRES_DSN: '' } }), 'service');
  });

  test('a backup and a collection use the database of the flag too, and say so', async () => {
    const { dsn } = database();
    if (!dsn) return;
    const settings = await loaded({
      flags: { 'storage.postgres_dsn': dsn },
      env: { SVC_CLIENT_API_TARGET: target },
    });
    const backup = outputs();
    await backUp(settings, { output: 'record.svc', json: false, version: '0.0.0' }, backup.io);
    const collection = outputs();
    await collectGarbage(settings, { json: true }, collection.io);
    for (const { printed } of [backup, collection]) assert.match(printed.err, /^Database: PostgreSQL at [^@]+\n$/);
    assert.is(requests, 0);
  });

  test('an embedded database that a flag names is not another service', async () => {
    if (database().dsn) return;
    const settings = await loaded({ flags: { 'storage.postgres_dsn': '' }, env: { SVC_CLIENT_API_TARGET: target } });
    const options = { session: null, head: null, json: false };
    const refused = await printVerification(settings, options, outputs().io).catch((error: unknown) => error);
    assert.match((refused as Error).message, /^Cannot verify anything: there is no database in '/);
    assert.is(requests, 0);
  });
});
