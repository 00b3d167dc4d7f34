import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openMetrics, REASONS } from '../../core/metrics.ts';
import { Outcome } from '../../core/model/coverage.ts';

const test = suite('metrics');

const NAMES = [
  'svc_build_info',
  'svc_proxy_requests_total',
  'svc_capture_not_captured_total',
  'svc_proxy_added_ttfb_seconds',
  'svc_journal_bytes',
  'svc_intake_turns_total',
  'svc_intake_batch_seconds',
  'svc_derive_seconds',
  'svc_derive_lag_seconds',
  'svc_derive_queue',
  'svc_derive_parked',
  'svc_api_requests_total',
  'svc_api_request_seconds',
  'svc_ingest_writes_total',
];

test('the names are those that operators know', async () => {
  const text = await openMetrics('all', '1').text();
  for (const name of NAMES) assert.match(text, `# TYPE ${name} `);
  assert.is([...text.matchAll(/^# TYPE /gm)].length, NAMES.length);
});

test('the reasons are the outcomes that are no turn', () => {
  assert.equal(
    [...REASONS].sort(),
    Outcome.options.filter((outcome) => outcome !== 'captured' && outcome !== 'partial').sort(),
  );
});

test('a value outside its list opens no series of its own', async () => {
  const metrics = openMetrics('all', '1');
  for (let n = 0; n < 100; n++) {
    metrics.proxyRequest(`provider-${n}`, `outcome-${n}`);
    metrics.notCaptured(`reason-${n}`);
    metrics.ingestWrite(`provider-${n}`, `status-${n}`);
  }
  metrics.proxyRequest('anthropic', 'captured');
  const text = await metrics.text();
  assert.match(text, 'svc_proxy_requests_total{provider="unknown",outcome="other"} 100');
  assert.match(text, 'svc_proxy_requests_total{provider="anthropic",outcome="captured"} 1');
  assert.match(text, 'svc_capture_not_captured_total{reason="other"} 100');
  assert.match(text, 'svc_ingest_writes_total{provider="unknown",status="other"} 100');
});

test('the first bucket of the time that the proxy adds is a quarter of a millisecond', async () => {
  const metrics = openMetrics('proxy');
  metrics.addedTtfb(0.0002);
  assert.match(await metrics.text(), 'svc_proxy_added_ttfb_seconds_bucket{le="0.00025"} 1');
});

test('the registries of a process and of its threads add up, and do not know of each other', async () => {
  const [main, engine] = [openMetrics('all', '1'), openMetrics('engine')];
  main.journalBytes(7);
  engine.intakeTurn('captured');
  engine.derivePending({ lagSeconds: 2, queue: 3, parked: 1 });
  engine.derived(0.02);
  const snapshot = structuredClone(await engine.registry.getMetricsAsJSON());
  const text = await main.text([snapshot, []]);
  assert.match(text, 'svc_build_info{version="1",role="all"} 1');
  assert.match(text, 'svc_journal_bytes 7');
  assert.match(text, 'svc_intake_turns_total{outcome="captured"} 1');
  assert.match(text, 'svc_derive_queue 3');
  assert.match(text, 'svc_derive_seconds_count 1');
  assert.not.match(await main.text(), 'svc_intake_turns_total{');
});

test.run();
