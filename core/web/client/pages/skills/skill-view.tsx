/** One skill: its text, the steps that each of its claims rests on, its versions, and the download. */
import { useState } from 'preact/hooks';
import {
  downloadSkill,
  listVersions,
  readSkill,
  type SkillEntry,
  type SkillEntryClaim,
  type SkillVersion,
} from '../../api/skills.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Formatted } from '../../parts/formatted.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { showToast } from '../../parts/toast.tsx';
import { pageState, useReading } from '../use-reading.ts';
import { SkillVersions } from './skill-versions.tsx';

type Whole = { skill: SkillEntry; versions: SkillVersion[] };

async function readWhole(id: string, signal: AbortSignal): Promise<Whole> {
  const [skill, versions] = await Promise.all([readSkill(id, signal), listVersions(id, signal)]);
  return { skill, versions };
}

export function SkillView({ id }: { id: string }) {
  const reading = useReading<Whole>(id, (signal) => readWhole(id, signal));
  const { answer, error, retry } = reading;
  return (
    <Page name="skill" title={answer?.skill.name ?? 'Skill'} state={pageState(reading)}>
      <p class="skill-back">
        <a href={hrefOf('/skills')}>‹ Skills</a>
      </p>
      {error !== null && <Problem error={error} onRetry={retry} />}
      {answer && <SkillText {...answer} />}
    </Page>
  );
}

function SkillText({ skill, versions }: Whole) {
  const { name, description, type, version, tags, content, claims, downloadCount, updatedAt, originatingSessionIds } =
    skill;
  return (
    <article class="skill">
      <header class="skill-head">
        <h1>
          <Recorded text={name} />
        </h1>
        <Download skill={skill} />
      </header>
      <p>
        <Recorded text={description} />
      </p>
      <p class="muted">
        {version} · {type} · <Count name="downloads" count={downloadCount} />{' '}
        {downloadCount === 1 ? 'download' : 'downloads'} · <When name="updated_at" at={updatedAt} />
        {tags.map((tag) => (
          <span class="tag" key={tag}>
            <Recorded text={tag} />
          </span>
        ))}
      </p>
      <div class="skill-columns">
        <section aria-label="Text" class="skill-content">
          <Formatted kind="markdown" text={content} />
        </section>
        {claims.length > 0 && (
          <section aria-labelledby="claims">
            <h2 id="claims">Who says so</h2>
            <ol class="claims">
              {claims.map((claim) => (
                <Claim key={claim.text} claim={claim} />
              ))}
            </ol>
          </section>
        )}
      </div>
      {originatingSessionIds.length > 0 && (
        <section aria-labelledby="sources">
          <h2 id="sources">Drawn from</h2>
          <ul>
            {originatingSessionIds.map((session) => (
              <li key={session}>
                <a href={hrefOf(`/sessions/${encodeURIComponent(session)}`)}>{session}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <SkillVersions head={content} versions={versions} />
    </article>
  );
}

const Claim = ({ claim: { text, spans } }: { claim: SkillEntryClaim }) => (
  <li data-claim>
    <Recorded text={text} />{' '}
    {spans.map(({ traceId, spanId }, i) => (
      <a key={spanId} data-span={spanId} class="claim-span" href={hrefOf(`/spans/${traceId}/${spanId}`)}>
        step{spans.length > 1 ? ` ${i + 1}` : ''}
      </a>
    ))}
  </li>
);

function Download({ skill }: { skill: SkillEntry }) {
  const [isRunning, setRunning] = useState(false);
  const run = () => {
    setRunning(true);
    downloadSkill(skill)
      .catch((error: unknown) => showToast(error instanceof Error ? error.message : 'It could not be downloaded'))
      .finally(() => setRunning(false));
  };
  return (
    <button type="button" data-action="download" disabled={isRunning} onClick={run}>
      <Icon name="download" /> SKILL.md
    </button>
  );
}
