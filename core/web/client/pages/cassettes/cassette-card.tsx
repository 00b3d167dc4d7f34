/** One cassette: its state with the reason, its progress, and behind a fold what it may do and what it is made of. */
import type { ComponentChildren } from 'preact';
import type { CassetteInfo, CassetteList } from '../../../../model/cassette.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { CONFINEMENT_WORDS, grantsText, STATE_WORDS, scheduleText } from './cassette-state.ts';
import '../../parts/data-table.css';

type Problem = CassetteList['problems'][number];

export function CassetteCard({ cassette, problem }: { cassette: CassetteInfo; problem: Problem | null }) {
  const { name, state, since, version, display_name, description, progress, confinement } = cassette;
  const { mark, word, advice } = STATE_WORDS[state];
  return (
    <section class="cassette" data-cassette={name} data-state={state} aria-labelledby={`cassette-${name}`}>
      <h2 id={`cassette-${name}`}>
        <Recorded text={display_name ?? name} />
        {version !== undefined && <small class="muted"> {version}</small>}
      </h2>
      <p class="cassette-state">
        <StatusMark status={mark} word={word} /> <When name="since" at={since} />
        {confinement && <span class="muted">{CONFINEMENT_WORDS[confinement.level]}</span>}
        {cassette.required && <span class="muted">the service is not ready without it</span>}
        {progress && <Progress {...progress} />}
      </p>
      {description !== undefined && (
        <p>
          <Recorded text={description} />
        </p>
      )}
      {problem && <Reason problem={problem} advice={advice} />}
      {!problem && advice !== null && <p>{advice}</p>}
      <details>
        <summary>What it may do, and what it is made of</summary>
        <Facts cassette={cassette} />
      </details>
    </section>
  );
}

const Progress = ({ done, pending, failed }: NonNullable<CassetteInfo['progress']>) => (
  <span>
    <Count name="progress_done" count={done} /> done, <Count name="progress_pending" count={pending} /> waiting
    {failed > 0 && (
      <>
        , <Count name="progress_failed" count={failed} /> failed
      </>
    )}
  </span>
);

const Reason = ({
  problem: { step, reason, problems, observed_at },
  advice,
}: {
  problem: Problem;
  advice: string | null;
}) => (
  <div class="cassette-reason">
    <p>
      <strong>
        <Recorded text={reason} />
      </strong>{' '}
      <span class="muted">
        (step <Recorded text={step} />, <When name="observed_at" at={observed_at} />)
      </span>
    </p>
    {problems.length > 1 && (
      <ul>
        {problems.map((each) => (
          <li key={each}>
            <Recorded text={each} />
          </li>
        ))}
      </ul>
    )}
    {advice !== null && <p>{advice}</p>}
  </div>
);

const ISOLATION_WORDS = {
  inline: 'in the process of the service',
  process: 'in a process of its own',
  remote: 'at another address',
} as const;

function Facts({ cassette }: { cassette: CassetteInfo }) {
  const { confinement, depends, bindings, tables, tools, schedule, last_run, liveness, config } = cassette;
  return (
    <dl class="facts">
      <Fact term="runs">
        {ISOLATION_WORDS[cassette.isolation]}
        {liveness && `, ${liveness.state}${liveness.restarts > 0 ? `, started again ${liveness.restarts} times` : ''}`}
      </Fact>
      {confinement && <List term="stops" items={confinement.stops} />}
      {confinement && <List term="does not stop" items={confinement.does_not_stop} />}
      {bindings && <Fact term="may use">{grantsText(bindings)}</Fact>}
      {depends && <List term="reads" items={depends.views} />}
      {tables && <List term="tables" items={tables} />}
      <List term="tools" items={tools.map(({ name, title }) => `${name}: ${title}`)} />
      {schedule && <Fact term="works">{scheduleText(schedule)}</Fact>}
      {last_run && (
        <Fact term="last run">
          <When name="scheduled_at" at={last_run.scheduled_at} />
          {last_run.error !== undefined && (
            <>
              {' '}
              <StatusMark status="error" word="failed" />: <Recorded text={last_run.error} />
            </>
          )}
        </Fact>
      )}
      {config && (
        <List term="settings" items={config.map(({ key, required }) => (required ? `${key} (required)` : key))} />
      )}
      <Fact term="contract">
        <a href={hrefOf(cassette.openapi_path)} target="_blank" rel="noreferrer">
          {cassette.openapi_path}
        </a>{' '}
        ({cassette.openapi_status})
      </Fact>
      <Digest term="source" digest={cassette.source_digest} />
      <Digest term="manifest" digest={cassette.manifest_digest} />
    </dl>
  );
}

const Fact = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);

const List = ({ term, items }: { term: string; items: readonly string[] }) =>
  items.length === 0 ? null : (
    <Fact term={term}>
      {items.map((item) => (
        <span class="cassette-item" key={item}>
          <Recorded text={item} />
        </span>
      ))}
    </Fact>
  );

const Digest = ({ term, digest }: { term: string; digest: string | undefined }) =>
  digest === undefined ? null : (
    <Fact term={term}>
      <code>{digest}</code>
    </Fact>
  );
