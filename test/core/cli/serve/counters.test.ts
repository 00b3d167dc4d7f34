/** What processes have counted outlives them: the sums never fall, whoever ends when. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Counters, openCounters } from '../../../../core/cli/serve/counters.ts';
import { counterSum } from '../../../../core/counter-sums.ts';
import { type MetricsSnapshot, openMetrics } from '../../../../core/metrics.ts';

const test = suite('counters of processes');

/** What a process reports that has passed so many calls. */
async function snapshot(calls: number, journalBytes = 0): Promise<MetricsSnapshot> {
  const metrics = openMetrics('forwarding');
  for (let i = 0; i < calls; i++) metrics.proxyRequest('openai', 'captured');
  for (let i = 0; i < calls; i++) metrics.addedTtfb(0.001);
  metrics.journal({ bytes: journalBytes, oldestSeconds: 0 });
  return metrics.registry.getMetricsAsJSON() as unknown as Promise<MetricsSnapshot>;
}

const shown = async (...snapshots: MetricsSnapshot[]): Promise<Record<string, number>> => {
  const text = await openMetrics('all', '0').text(snapshots);
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    calls: figure('svc_proxy_requests_total\\{provider="openai",outcome="captured"\\}'),
    observed: figure('svc_proxy_added_ttfb_seconds_count'),
    within: figure('svc_proxy_added_ttfb_seconds_bucket\\{le="0.002"\\}'),
    bytes: figure('svc_journal_bytes'),
  };
};

test('counters and histograms add up, and what is true only now is left out', async () => {
  const sum = counterSum(await snapshot(2, 700), await snapshot(3, 11));
  assert.equal(await shown(sum), { calls: 5, observed: 5, within: 5, bytes: 0 });
});

test('a proxy that ends leaves what it has reported; one that says nothing in time is shown as it was last', async () => {
  let respond: (counters: Counters, id: number) => Promise<void> = async () => {};
  const counters: Counters = openCounters((id) => void respond(counters, id));
  respond = async (all, id) => all.fromProxy(id, await snapshot(4));
  assert.is((await shown(...(await counters.others()))).calls, 4);
  respond = async () => {};
  assert.is((await shown(...(await counters.others()))).calls, 4, 'silent');
  counters.proxyDied();
  assert.is((await shown(...(await counters.others()))).calls, 4, 'ended');
  respond = async (all, id) => all.fromProxy(id, await snapshot(1));
  assert.is((await shown(...(await counters.others()))).calls, 5, 'the next one adds to it');
});

test('so does a service: what it has shown is still counted after it', async () => {
  const counters = openCounters(() => {});
  counters.fromService([await snapshot(1), await snapshot(2)]);
  assert.is((await shown(...(await counters.others()))).calls, 0, 'while it lives it counts itself');
  counters.fromService([await snapshot(2), await snapshot(5)]);
  counters.serviceDied();
  counters.serviceDied();
  assert.is((await shown(...(await counters.others()))).calls, 7);
});

test.run();
