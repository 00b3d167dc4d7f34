/** The published versions of a skill, each with what it changed. */
import { useState } from 'preact/hooks';
import type { SkillVersion } from '../../api/skills.ts';
import { When } from '../../parts/figure.tsx';
import { Formatted } from '../../parts/formatted.tsx';
import { Recorded } from '../../parts/recorded.tsx';

/** @param head the text as it is now, which may be ahead of the newest version @param versions the newest first */
export function SkillVersions({ head, versions }: { head: string; versions: readonly SkillVersion[] }) {
  const newest = versions[0];
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      {newest === undefined && <p class="muted">None was published yet.</p>}
      {newest !== undefined && newest.content !== head && (
        <Change title="changed since" before={newest.content} text={head} />
      )}
      <ol class="versions">
        {versions.map(({ id, semver, publishedAt, changelog, content }, i) => (
          <li key={id} data-skill-version={semver}>
            <strong>{semver}</strong> <When name="published_at" at={publishedAt} /> <Recorded text={changelog} />
            <Change
              title={i + 1 < versions.length ? 'what it changed' : 'its text'}
              before={versions[i + 1]?.content ?? ''}
              text={content}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Compared when it is first opened. */
function Change({ title, before, text }: { title: string; before: string; text: string }) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary>{title}</summary>
      {wasOpened && <Formatted kind="diff" before={before} text={text} />}
    </details>
  );
}
