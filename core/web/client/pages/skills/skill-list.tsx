/** The list of skills, by their last change or by how often they were downloaded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { listSkills, type SkillEntry } from '../../api/skills.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { showToast } from '../../parts/toast.tsx';
import { pageState, useReading } from '../use-reading.ts';

type SkillRows = { items: SkillEntry[]; next_cursor?: string };

const OFF = ['cassette-unknown', 'cassette-unavailable', 'route-unknown'];
const PAUSE_MS = 250;

export function SkillList() {
  const { query, setQuery } = useAddress();
  const q = query.get('q') ?? '';
  const sort = query.get('sort') === 'downloads' ? 'downloads' : 'updated';
  const key = new URLSearchParams({ ...(q && { q }), sort }).toString();
  const reading = useReading<SkillRows>(key, (signal) => listSkills(new URLSearchParams(key), signal));
  const { answer, error, retry } = reading;
  const [more, setMore] = useState<{ key: string; rows: SkillRows } | null>(null);
  const rows = more?.key === key ? more.rows : answer;
  const isOff = error instanceof ProblemError && OFF.includes(error.code);
  const readOn = async (cursor: string) => {
    try {
      const next = await listSkills(new URLSearchParams([...new URLSearchParams(key), ['cursor', cursor]]));
      setMore({ key, rows: { ...next, items: [...(rows?.items ?? []), ...next.items] } });
    } catch (thrown) {
      showToast(thrown instanceof Error ? thrown.message : 'The rest could not be read');
    }
  };
  const state = isOff ? 'empty' : pageState(reading, ({ items }) => items.length === 0);
  return (
    <Page name="skills" title="Skills" state={reading.key !== key && error === null ? 'loading' : state}>
      <h1>Skills</h1>
      {!isOff && <Tools q={q} sort={sort} onChange={setQuery} />}
      {isOff && (
        <p>
          The cassette “skills” is not in: <a href={hrefOf('/cassettes')}>Cassettes</a> says why.
        </p>
      )}
      {error !== null && !isOff && <Problem error={error} onRetry={retry} />}
      {rows?.items.length === 0 && <NoSkills isFiltered={q !== ''} />}
      <ul class="skills">
        {rows?.items.map((skill) => (
          <SkillRow key={skill.id} skill={skill} />
        ))}
      </ul>
      {rows?.next_cursor !== undefined && (
        <button type="button" onClick={() => void readOn(rows.next_cursor ?? '')}>
          More
        </button>
      )}
    </Page>
  );
}

type ToolsProps = {
  q: string;
  sort: string;
  onChange: (patch: Record<string, string | null>, how?: { replace: boolean }) => void;
};

function Tools({ q, sort, onChange }: ToolsProps) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const box = input.current;
    if (box && timer.current === undefined && box.value.trim() !== q) box.value = q; // not while somebody types
  }, [q]);
  return (
    <div class="skill-tools">
      <input
        ref={input}
        type="search"
        name="skill-words"
        aria-label="Part of a name, description or tag"
        placeholder="part of a name, description or tag"
        maxLength={500}
        defaultValue={q}
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            timer.current = undefined;
            onChange({ q: value.trim() || null }, { replace: true });
          }, PAUSE_MS);
        }}
      />
      <label>
        Sort{' '}
        <select
          name="sort"
          value={sort}
          onChange={({ currentTarget: { value } }) => onChange({ sort: value === 'updated' ? null : value })}
        >
          <option value="updated">last changed</option>
          <option value="downloads">downloads</option>
        </select>
      </label>
    </div>
  );
}

const NoSkills = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <p>No skill has this in its name, description or tags.</p>
  ) : (
    <p>
      There is none yet. <code>POST /v1/cassettes/skills/generate</code> with the ids of sessions draws one from them;{' '}
      <code>POST /v1/cassettes/skills</code> stores one that you wrote.
    </p>
  );

const SkillRow = ({
  skill: { id, name, description, version, tags, isAiGenerated, downloadCount, updatedAt },
}: {
  skill: SkillEntry;
}) => (
  <li data-skill={id}>
    <a href={hrefOf(`/skills/${id}`)}>
      <Recorded text={name} />
    </a>
    <p>
      <Recorded text={description} />
    </p>
    <p class="muted">
      {version} · {isAiGenerated ? 'from sessions' : 'by hand'} · <Count name="downloads" count={downloadCount} />{' '}
      {downloadCount === 1 ? 'download' : 'downloads'} · <When name="updated_at" at={updatedAt} />
      {tags.map((tag) => (
        <span class="tag" key={tag}>
          <Recorded text={tag} />
        </span>
      ))}
    </p>
  </li>
);
