/** A broker that is away costs a running service nothing: calls are captured as ever, one line is logged, and status and doctor name it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Status } from '../../core/model/status.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { startSilentServer } from '../support/kafka.ts';
import { acceptedTurn, plainTurn } from '../support/post-turns.ts';
import { eventually, read, removeFolder, startService, svc } from '../support/serve.ts';

const test = suite('a broker that is away');
const TURNS = 50;

test('all turns are stored, and the service stops without waiting for it', async () => {
  const [silent, folder] = [await startSilentServer(), await folderWithDatabase()];
  const service = await startService(folder, {
    SVC_PUBLISHER_STREAM_BROKERS: `127.0.0.1:1,${silent.address}`,
    SVC_PUBLISHER_STREAM_TOPIC: 'nodes',
  });
  try {
    for (let n = 0; n < TURNS; n++) await acceptedTurn(service, plainTurn(`turn-${n}`));
    const { publisher } = await eventually('the failure in the status', async () => {
      const status = await read<Status>(`${service.api}/v1/admin/status`);
      return status.counts.raw_turns === TURNS && status.publisher?.reason && status.publisher.queued === 2 * TURNS
        ? status
        : null;
    });
    const { queued, published, failed, dropped } = publisher ?? {};
    assert.equal({ queued, published, failed, dropped }, { queued: 2 * TURNS, published: 0, failed: 0, dropped: 0 });
    const own = { SVC_CLIENT_API_TARGET: service.api };
    assert.match(
      (await svc(folder, ['status'], own)).out,
      /publishing +0 nodes sent .* 100 waiting; no broker takes them: /,
    );
    const doctor = await svc(folder, ['doctor', '--offline'], own);
    assert.match(doctor.out, /✗ publishing: no broker takes nodes: /);

    const from = performance.now();
    assert.is(await service.stop(), 0);
    assert.ok(performance.now() - from < 20_000);
    assert.is(service.log().split('Cannot publish nodes').length - 1, 1, service.log());
  } finally {
    await service.kill();
    silent.close();
    await removeFolder(folder);
  }
});

test.run();
