/** How soon has the browser's page what it shows first? The outline of long sessions, what changed of it, and a window of spans. */
import type { Outline } from '../../core/model/outline.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { deriveAll } from '../support/derive-all.ts';
import { LARGE_SESSIONS, largeSession, spansIn } from '../support/large-session.ts';
import { testApi } from '../support/read-api.ts';
import { testTranscripts, upload } from '../support/transcript-uploads.ts';
import { heading, ms, percentiles, row } from './figures.ts';

const READS = 20;

export async function benchOutline(): Promise<void> {
  for (const kind of ['embedded', 'server'] as const) {
    const dsn = process.env.SVC_TEST_DSN;
    if (kind === 'server' && !dsn) {
      row('server', 'SVC_TEST_DSN is not set');
      continue;
    }
    const options = { statementTimeoutMs: 600_000 };
    const database = kind === 'server' ? await serverDatabase(dsn ?? '', options) : await embeddedDatabase(options);
    try {
      for (const name of ['L10', 'L1T'] as const) await benchSession(`${kind}, ${name}`, name, database);
    } finally {
      await database.close();
    }
  }
}

async function benchSession(heads: string, name: keyof typeof LARGE_SESSIONS, database: TestDatabase): Promise<void> {
  const size = LARGE_SESSIONS[name];
  heading(`A session of ${spansIn(size)} spans in ${size.traces} traces, ${heads}`);
  row('', 'p50', 'p99', 'KB');
  const began = performance.now();
  const stored = await upload(testTranscripts(database), ...largeSession(size, name));
  await deriveAll(database);
  row('stored and derived', ms(performance.now() - began), '-', '-');
  const path = `/v1/sessions/${stored[0]?.session_id}/outline`;
  const api = testApi({ execute: database.execute });
  const text = async (address: string) => (await api.request(address)).text();
  const whole: Outline = JSON.parse(await text(path));
  if (whole.spans.span_id.length !== spansIn(size))
    throw new Error(`Cannot measure: ${whole.spans.span_id.length} spans were derived`);
  const trace = whole.traces.trace_id[0];
  for (const [what, address] of [
    ['outline', path],
    ['outline, nothing changed', `${path}?after=${whole.rev}`],
    ['50 spans, shortened', `/v1/traces/${trace}/spans?from_seq=${name === 'L1T' ? 5_000 : 0}`],
  ] as const) {
    const samples: number[] = [];
    let bytes = 0;
    for (let n = -2; n < READS; n++) {
      const requested = performance.now();
      bytes = (await text(address)).length;
      if (n >= 0) samples.push(performance.now() - requested); // the first ones plan and fill caches
    }
    const { p50, p99 } = percentiles(samples);
    row(what, ms(p50), ms(p99), String(Math.round(bytes / 1024)));
  }
}
