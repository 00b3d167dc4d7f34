import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type IngestStatus, type Metrics, openMetrics, type ProcessRole, REASONS } from '../../core/metrics.ts';
import { Outcome } from '../../core/model/coverage.ts';
import { ProviderId } from '../../core/provider/provider-ids.ts';
import { type Json, testApi } from '../support/read-api.ts';

const test = suite('metrics');

const NAMES = [
  'svc_build_info',
  'svc_proxy_requests_total',
  'svc_capture_not_captured_total',
  'svc_proxy_added_ttfb_seconds',
  'svc_journal_bytes',
  'svc_journal_oldest_seconds',
  'svc_intake_turns_total',
  'svc_intake_batch_seconds',
  'svc_derive_seconds',
  'svc_derive_lag_seconds',
  'svc_derive_queue',
  'svc_derive_parked',
  'svc_publish_nodes_total',
  'svc_publish_queue',
  'svc_publish_broker_up',
  'svc_telemetry_exports_total',
  'svc_retention_removed_sessions_total',
  'svc_retention_removed_turns_total',
  'svc_retention_removed_bytes_total',
  'svc_retention_sweeps_total',
  'svc_budget_crossings_total',
  'svc_cache_reviews_total',
  'svc_cache_contradictions_total',
  'svc_process_up',
  'svc_process_restarts_total',
  'svc_api_requests_total',
  'svc_api_request_seconds',
  'svc_ingest_writes_total',
  'svc_ingest_body_bytes',
  'svc_ingest_write_seconds',
  'svc_cassette_admitted',
  'svc_cassette_restarts',
  'svc_cassette_background_items',
];

type Family = { name: string; help: string; type: string; values: { labels: Record<string, string | number> }[] };

/** All that is registered, with a value in each series that these calls opened. */
const families = async (metrics: Metrics) => (await metrics.registry.getMetricsAsJSON()) as unknown as Family[];

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

/** Every way to count, with the given text wherever text is taken. */
const countAll = (metrics: Metrics, text: string) => {
  metrics.proxyRequest(text, text);
  metrics.notCaptured(text);
  metrics.addedTtfb(1);
  metrics.journal({ bytes: 1, oldestSeconds: 1 });
  metrics.intakeTurn(text);
  metrics.intakeBatch(1);
  metrics.derived(1);
  metrics.derivePending({ lagSeconds: 1, queue: 1, parked: 1 });
  metrics.published('failed', 1);
  metrics.publisher({ queued: 1, isUp: true });
  metrics.telemetryExport('failed');
  metrics.retentionRemoved({ sessions: 1, raw_turns: 1, slice_bytes: 1 });
  metrics.retentionSwept();
  metrics.budgetCrossed('day');
  metrics.processes([{ name: text, state: text, restarts: 1 }]);
  metrics.cassettes([{ name: 'search', admitted: true, restarts: 1, progress: { done: 1, pending: 1, failed: 1 } }]);
  metrics.apiRequest({ route: '/v1/sessions', method: text, status: 200, seconds: 1 });
  metrics.ingestWrite(text, text as IngestStatus);
  metrics.ingestBody(text, 1);
  metrics.ingestWait(1);
};

const HOSTILE = [
  '',
  ' ',
  'constructor',
  '__proto__',
  'ANTHROPIC',
  'a"b',
  'a\nb',
  'a\\',
  '\u0000',
  '\ud800',
  'é',
  'x'.repeat(9_999),
];

test('names and labels keep the rules of Prometheus', async () => {
  const metrics = openMetrics('all', '1');
  countAll(metrics, 'anthropic');
  for (const { name, help, type, values } of await families(metrics)) {
    assert.match(name, /^svc(_[a-z]+)+$/, `${name}: our prefix, snake case, no colon`);
    assert.is(name.endsWith('_total'), type === 'counter', `${name}: _total is for counters, and all of them`);
    assert.is(name.endsWith('_info'), name === 'svc_build_info', name);
    assert.not.match(name, /_(count|sum|bucket|created)$/, `${name}: suffixes that the exposition adds`);
    assert.not.match(name, /_(counter|gauge|histogram|summary)(_|$)/, `${name}: the type does not belong into it`);
    assert.not.match(
      name,
      /_(s|ms|us|ns|sec|secs|milliseconds|microseconds|nanoseconds|minutes|hours|days|b|kb|mb|gb|kib|mib|gib|kilobytes|megabytes|bits|percent)(_|$)/,
      `${name}: base units, written out`,
    );
    const units = name.match(/_(seconds|bytes|ratio)(?=_|$)/g) ?? [];
    assert.ok(units.length <= 1, `${name}: one unit`);
    if (type === 'histogram') assert.match(name, /_(seconds|bytes)$/, `${name}: what it measures`);
    if (units[0]) assert.match(name, new RegExp(`${units[0]}(_total)?$`), `${name}: the unit comes last`);

    assert.ok(help.trim() !== '' && help === help.trim() && !help.includes('\n'), `${name}: help`);
    assert.not.match(help, /[.!:;,]$/, `${name}: help without a full stop`);
    assert.is(help[0], help[0]?.toUpperCase(), `${name}: help`);

    assert.ok(values.length > 0, `${name}: counted by \`countAll\``);
    for (const label of values.flatMap(({ labels }) => Object.keys(labels))) {
      if (type === 'histogram' && label === 'le') continue;
      assert.match(label, /^[a-z]+(_[a-z]+)*$/, `${name}{${label}}`);
      assert.not.ok(['le', 'quantile', 'job', 'instance', 'type'].includes(label), `${name}{${label}}: taken`);
      assert.not.ok(name.split('_').includes(label), `${name}{${label}}: said twice`);
    }
  }
});

test('the exposition is text that Prometheus can read, whatever was counted', async () => {
  const metrics = openMetrics('all', 'a"b\\c\nd');
  for (const text of HOSTILE) countAll(metrics, text);
  const value = '(?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|[-+]Inf|NaN|Nan)';
  const label = '[a-z_]+="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
  const sample = new RegExp(`^[a-z_]+(?:\\{${label}(?:,${label})*\\})? ${value}$`);
  for (const line of (await metrics.text()).split('\n'))
    if (line !== '' && !/^# (HELP|TYPE) svc_[a-z_]+ ./.test(line)) assert.match(line, sample);
});

test('buckets are finite, rise, and end beyond what is measured', async () => {
  const metrics = openMetrics('all', '1');
  countAll(metrics, 'anthropic');
  for (const { name, type, values } of await families(metrics)) {
    if (type !== 'histogram') continue;
    const bounds = values.flatMap(({ labels }) => (typeof labels.le === 'number' ? [labels.le] : []));
    assert.ok(bounds.length >= 8 && bounds.length <= 16, name);
    assert.equal(
      [...new Set(bounds)].sort((a, b) => a - b),
      bounds,
      name,
    );
    if (name === 'svc_ingest_body_bytes') assert.equal([bounds[0], bounds.at(-1)], [256, 16 * 1024 * 1024]);
  }
});

test('a value outside its list opens no series of its own', async () => {
  const metrics = openMetrics('all', '1');
  for (const text of HOSTILE) countAll(metrics, text);
  for (let n = 0; n < 100; n++) countAll(metrics, `hostile-${n}`);
  const more: Record<string, number> = {
    svc_cassette_background_items: 2, // done, pending, failed
    svc_proxy_requests_total: ProviderId.options.length * Outcome.options.length, // there from the start
    svc_capture_not_captured_total: REASONS.length,
  };
  for (const { name, values } of await families(metrics)) {
    const series = new Set(values.map(({ labels: { le: _, ...labels } }) => JSON.stringify(labels)));
    assert.is(series.size, 1 + (more[name] ?? 0), `${name}: ${[...series].slice(0, 3).join(' ')}`);
  }
  metrics.proxyRequest('anthropic', 'captured');
  const text = await metrics.text();
  const all = 100 + HOSTILE.length;
  for (const series of [
    `svc_proxy_requests_total{provider="unknown",outcome="other"} ${all}`,
    'svc_proxy_requests_total{provider="anthropic",outcome="captured"} 1',
    `svc_capture_not_captured_total{reason="other"} ${all}`,
    `svc_intake_turns_total{outcome="other"} ${all}`,
    `svc_api_requests_total{route="/v1/sessions",method="other",status="200"} ${all}`,
    `svc_ingest_writes_total{provider="unknown",status="other"} ${all}`,
    `svc_ingest_body_bytes_count{provider="unknown"} ${all}`,
  ])
    assert.ok(text.includes(`${series}\n`), series);
});

test('what the proxy counts is there from the start, with 0; where no proxy runs it is not', async () => {
  const expected = [
    ...ProviderId.options.flatMap((provider) =>
      Outcome.options.map((outcome) => `svc_proxy_requests_total{provider="${provider}",outcome="${outcome}"} 0`),
    ),
    ...REASONS.map((reason) => `svc_capture_not_captured_total{reason="${reason}"} 0`),
  ].sort();
  const counted = async (role: ProcessRole) =>
    (await openMetrics(role, '1').text())
      .split('\n')
      .filter((line) => /^svc_(proxy_requests|capture_not_captured)_total\{/.test(line))
      .sort();
  for (const role of ['all', 'proxy'] as const) {
    assert.equal(await counted(role), expected, role);
    const text = await openMetrics(role, '1').text();
    for (const line of ['svc_journal_bytes 0', 'svc_journal_oldest_seconds 0', 'svc_proxy_added_ttfb_seconds_count 0'])
      assert.match(text, `\n${line}\n`, role);
  }
  for (const role of ['ingest', 'engine'] as const) assert.equal(await counted(role), [], role);
});

test('the routes of the read API are a closed list, whatever is asked for', async () => {
  const metrics = openMetrics('all', '1');
  const app = testApi({ metrics });
  const served = new Set(app.routes.map(({ path }) => path));
  for (let n = 0; n < 50; n++)
    for (const path of [`/${n}`, `/v1/sessions/${n}`, `/v1/sessions?limit=${n}`, `/swagger/${n}`, `/v1/${n}/%2e%2e/x`])
      await app.request(path, { method: ['GET', 'POST', 'OPTIONS', `HOSTILE${n}`][n % 4] as string });
  const [counted] = (await families(metrics)).filter(({ name }) => name === 'svc_api_requests_total');
  const labels = (counted?.values ?? []).map((value) => value.labels as Json);
  for (const { route, method, status } of labels) {
    assert.ok(served.has(route) || route === 'unmatched', route);
    assert.ok(['GET', 'POST', 'OPTIONS', 'other'].includes(method), method);
    assert.match(status, /^[1-5][0-9][0-9]$/);
  }
  assert.ok(labels.length > 4 && labels.length < 30, String(labels.length));
});

test('every status of an ingest write is a series of its own', async () => {
  const metrics = openMetrics('ingest', '1');
  const statuses: Record<IngestStatus, true> = {
    accepted: true,
    duplicate: true,
    unusable: true,
    reject_envelope: true,
    reject_media_type: true,
    reject_oversize: true,
    reject_incomplete: true,
    reject_purged: true,
    busy: true,
    unavailable: true,
    failed: true,
  };
  const names = Object.keys(statuses) as IngestStatus[];
  const providers = ['anthropic', 'openai', 'ollama', 'unknown'];
  for (const provider of providers) for (const status of names) metrics.ingestWrite(provider, status);
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('svc_ingest_writes_total{'));
  const series = providers.length * names.length;
  assert.equal([lines.length, lines.filter((line) => line.endsWith(' 1')).length], [series, series]);
});

test('the first bucket of the time that the proxy adds is a quarter of a millisecond', async () => {
  const metrics = openMetrics('proxy');
  metrics.addedTtfb(0.0002);
  assert.match(await metrics.text(), 'svc_proxy_added_ttfb_seconds_bucket{le="0.00025"} 1');
});

test('what every call counts is noted first, and none of it is lost or counted twice', async () => {
  const metrics = openMetrics('proxy');
  for (let call = 0; call < 2_500; call++) {
    metrics.proxyRequest('openai', call % 5 === 0 ? 'partial' : 'captured');
    metrics.addedTtfb(0.001);
    if (call === 1_700) await metrics.text();
  }
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = await metrics.text();
    assert.match(text, 'svc_proxy_requests_total{provider="openai",outcome="captured"} 2000');
    assert.match(text, 'svc_proxy_requests_total{provider="openai",outcome="partial"} 500');
    assert.match(text, 'svc_proxy_added_ttfb_seconds_count 2500');
  }
});

test('the registries of a process and of its threads add up, and do not know of each other', async () => {
  const [main, engine] = [openMetrics('all', '1'), openMetrics('engine')];
  main.journal({ bytes: 7, oldestSeconds: 3 });
  engine.intakeTurn('captured');
  engine.derivePending({ lagSeconds: 2, queue: 3, parked: 1 });
  engine.derived(0.02);
  const snapshot = structuredClone(await engine.registry.getMetricsAsJSON());
  const text = await main.text([snapshot, []]);
  assert.match(text, 'svc_build_info{version="1",role="all"} 1');
  assert.match(text, 'svc_journal_bytes 7');
  assert.match(text, 'svc_journal_oldest_seconds 3');
  assert.match(text, 'svc_intake_turns_total{outcome="captured"} 1');
  assert.match(text, 'svc_derive_queue 3');
  assert.match(text, 'svc_derive_seconds_count 1');
  assert.not.match(await main.text(), 'svc_intake_turns_total{');
});

test('a cassette that left the list is told no more', async () => {
  const metrics = openMetrics('all', '1');
  metrics.cassettes([
    { name: 'search', admitted: true, restarts: 0, progress: { done: 1204, pending: 35, failed: 2 } },
    { name: 'skills', admitted: false, restarts: 3, progress: null },
  ]);
  const both = await metrics.text();
  assert.match(both, 'svc_cassette_admitted{name="search"} 1');
  assert.match(both, 'svc_cassette_admitted{name="skills"} 0');
  assert.match(both, 'svc_cassette_restarts{name="skills"} 3');
  for (const [state, items] of Object.entries({ done: 1204, pending: 35, failed: 2 }))
    assert.match(both, `svc_cassette_background_items{name="search",state="${state}"} ${items}`);
  assert.not.match(both, 'svc_cassette_background_items{name="skills"');
  metrics.cassettes([{ name: 'skills', admitted: true, restarts: 0, progress: null }]);
  assert.not.match(await metrics.text(), 'search');
});

test.run();
