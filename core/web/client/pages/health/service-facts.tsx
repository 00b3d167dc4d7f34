/** The service in figures: its version, its database and journal, what waits, and how long the disk lasts. */
import type { ComponentChildren } from 'preact';
import type { Status } from '../../../../model/status.ts';
import { Bytes, Count, Duration, When } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { type CoverageDay, daysLeft, growthOf } from './growth.ts';

type ServiceFactsProps = { status: Status; byDay: readonly CoverageDay[]; now: number };

export function ServiceFacts({ status, byDay, now }: ServiceFactsProps) {
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
          <Count name="derive_queued" count={derive.queued} /> {derive.queued === 1 ? 'session waits' : 'sessions wait'}
          , the longest for <Duration name="derive_lag_us" us={derive.lag_seconds * 1_000_000} />
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
        <Fact term="growth">
          <Growth status={status} byDay={byDay} now={now} />
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

/** The database has what the record takes; the journal is emptied, so it does not grow. */
function Growth({ status: { database, counts, service }, byDay, now }: ServiceFactsProps) {
  const growth = growthOf(byDay, counts.raw_turns, database.bytes, now);
  if (growth === null) return <>not known before the first call</>;
  const free = service?.free_bytes;
  const left = free === undefined ? null : daysLeft(growth, free);
  return (
    <>
      about <Bytes name="growth_bytes_per_day" count={Math.round(growth.bytesPerDay)} /> a day, by the last{' '}
      {growth.days === 1 ? 'day' : `${growth.days} days`}
      {free !== undefined && (
        <>
          ; <Bytes name="free_bytes" count={free} /> free
          {left !== null && (
            <>
              , which lasts{' '}
              <span data-number="days_left" data-value={left}>
                {left > 3_650
                  ? 'for more than ten years'
                  : left === 1
                    ? 'one day'
                    : `${left.toLocaleString('en')} days`}
              </span>
            </>
          )}
        </>
      )}
    </>
  );
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
