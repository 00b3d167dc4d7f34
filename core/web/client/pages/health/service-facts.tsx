/** The service in figures: its version, its database and journal, what waits, and how long the disk lasts. */
import type { ComponentChildren } from 'preact';
import type { Status } from '../../../../model/status.ts';
import { Bytes, Count, Duration, When } from '../../parts/figure.tsx';
import { grouped } from '../../parts/number-text.ts';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';

export function ServiceFacts({ status }: { status: Status }) {
  const { version, uptime_seconds, database, counts, derive, journal, last_turn_at, service, estimated } = status;
  return (
    <section aria-labelledby="service">
      <h2 id="service">The service</h2>
      <dl class="facts">
        <Fact term="version">
          {version}, up <Duration name="uptime_us" us={uptime_seconds * 1_000_000} />
        </Fact>
        <Fact term="last call">
          {last_turn_at === undefined ? 'none yet' : <When name="last_turn_at" at={last_turn_at} />}
        </Fact>
        <Fact term="behind">
          <StatusMark
            status={derive.parked > 0 ? 'warn' : 'ok'}
            word={derive.queued === 0 ? 'nothing waits' : 'catching up'}
          />{' '}
          {derive.queued > 0 && (
            <>
              <Count name="derive_queued" count={derive.queued} />{' '}
              {derive.queued === 1 ? 'session waits' : 'sessions wait'}, the longest for{' '}
              <Duration name="derive_lag_us" us={derive.lag_seconds * 1_000_000} />
            </>
          )}
        </Fact>
        {journal && (
          <Fact term="journal">
            <Bytes name="journal_bytes" count={journal.bytes} />
            {journal.oldest_seconds > 0 && (
              <>
                , the oldest call waits for{' '}
                <Duration name="journal_oldest_us" us={journal.oldest_seconds * 1_000_000} />
              </>
            )}
          </Fact>
        )}
        <Fact term="database">
          {database.kind}, PostgreSQL {database.server_version}, <Bytes name="database_bytes" count={database.bytes} />{' '}
          on disk
        </Fact>
        <Fact term="disk">
          <Growth disk={status.disk} />
        </Fact>
        <Fact term="stored">
          {(['sessions', 'raw_turns', 'traces', 'spans'] as const).map((name, i) => (
            <span key={name}>
              {i > 0 && ' · '}
              {(estimated as readonly string[]).includes(name) && '≈ '}
              <Count name={name} count={counts[name]} /> {STORED_WORDS[name]}
            </span>
          ))}
        </Fact>
        {service && (
          <>
            <Fact term="folder">
              <code>
                <Recorded text={service.folder} />
              </code>
            </Fact>
            {(['proxy', 'api', 'ingest'] as const).map((name) => (
              <Fact term={LISTENER_WORDS[name]} key={name}>
                <code>{service.listeners[name].join(', ') || 'not in this process'}</code>
              </Fact>
            ))}
          </>
        )}
      </dl>
      {service && service.settings.length > 0 && <Settings settings={service.settings} />}
    </section>
  );
}

const STORED_WORDS = { sessions: 'sessions', raw_turns: 'calls', traces: 'prompts', spans: 'steps' };
const LISTENER_WORDS = { proxy: 'capture proxy', api: 'read API', ingest: 'ingest API' };

const Fact = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);

function Growth({ disk: { bytes, growth_bytes_per_day, free_bytes, days_left } }: Pick<Status, 'disk'>) {
  return (
    <>
      <Bytes name="disk_bytes" count={bytes} /> with the journal
      {growth_bytes_per_day === undefined ? (
        '; how it grows is known once a day was measured'
      ) : (
        <>
          , growing by <Bytes name="growth_bytes_per_day" count={growth_bytes_per_day} /> a day
        </>
      )}
      {free_bytes !== undefined && (
        <>
          ; <Bytes name="free_bytes" count={free_bytes} /> free
        </>
      )}
      {days_left !== undefined && (
        <>
          , which lasts{' '}
          <span data-number="days_left" data-value={days_left}>
            {daysText(days_left)}
          </span>
        </>
      )}
    </>
  );
}

const MOST_DAYS = 3_650;

function daysText(days: number): string {
  if (days > MOST_DAYS) return 'for more than ten years';
  if (days < 1) return 'less than a day';
  return days < 2 ? 'one day' : `${grouped(Math.floor(days))} days`;
}

const Settings = ({ settings }: Pick<NonNullable<Status['service']>, 'settings'>) => (
  <details>
    <summary>
      {settings.length} {settings.length === 1 ? 'setting is' : 'settings are'} not at their default
    </summary>
    <table class="data-table">
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">Value</th>
          <th scope="col">From</th>
        </tr>
      </thead>
      <tbody>
        {settings.map(({ key, value, from }) => (
          <tr key={key}>
            <th scope="row">
              <code>{key}</code>
            </th>
            <td>
              <code>
                <Recorded text={JSON.stringify(value)} />
              </code>
            </td>
            <td>
              <Recorded text={from} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </details>
);
