/** What an engine has counted is shown while its thread is silent, and after the thread has ended. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngineCounters } from '../../../core/engine/engine-counters.ts';
import { type MetricsSnapshot, openMetrics } from '../../../core/metrics.ts';

const test = suite('counters of the engine');

/** What a thread reports that has published so many nodes, while as many wait. */
function snapshot(nodes: number): Promise<MetricsSnapshot> {
  const metrics = openMetrics('all');
  metrics.published('published', nodes);
  metrics.publisher({ queued: nodes, isUp: true });
  return metrics.snapshot();
}

const shown = async (snapshots: readonly MetricsSnapshot[]) => {
  const text = await openMetrics('all', '0').text(snapshots);
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    published: figure('svc_publish_nodes_total\\{result="published"\\}'),
    queued: figure('svc_publish_queue\\{to="kafka"\\}'),
  };
};

test('no counter falls while the thread is busy, has ended, or counts anew', async () => {
  let reply: MetricsSnapshot | null = await snapshot(3);
  const counters = openEngineCounters(async () => reply);
  assert.equal(await shown(await counters.snapshots()), { published: 3, queued: 3 });
  reply = null;
  assert.equal(await shown(await counters.snapshots()), { published: 3, queued: 3 }, 'busy');
  counters.died();
  assert.equal(await shown(await counters.snapshots()), { published: 3, queued: 0 }, 'ended');
  reply = await snapshot(2);
  assert.equal(await shown(await counters.snapshots()), { published: 5, queued: 2 }, 'started anew');
  counters.died();
  counters.died();
  reply = null;
  assert.equal(await shown(await counters.snapshots()), { published: 5, queued: 0 }, 'ended again');
});

test.run();
