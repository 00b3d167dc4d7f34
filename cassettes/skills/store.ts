/** The store of skills. Each operation is one statement, so that nothing is ever half done. */
import type { Db } from '../../core/cassette/contract.ts';
import type { Skill, SkillClaim, SkillScope, SkillUpdate, Sort } from './model.ts';
import { slugOf } from './skill-md.ts';

const SECONDS = `'YYYY-MM-DD"T"HH24:MI:SS"Z"'`;
const instant = (column: string) => `to_char(${column} at time zone 'UTC', ${SECONDS})`;

/** The columns of a skill as the API names them, without computed members. */
const SHOWN = `id, parent_id as "parentId", name, description, type, version_number as "versionNumber", visibility, tags,
  content, claims, is_ai_generated as "isAiGenerated", generated_from_session_ids as "originatingSessionIds",
  author_subject as "authorId", download_count as "downloadCount", ${instant('created_at')} as "createdAt",
  ${instant('updated_at')} as "updatedAt"`;
type Row = Omit<Skill, 'slug' | 'version'>;

/** A version number in the form `0.1.n`; a head that was never published has that of the first version. */
export const semverOf = (versionNumber: number): string => `0.1.${Math.max(0, versionNumber - 1)}`;

const shown = ({ id, ...row }: Row): Skill => ({
  id,
  slug: slugOf(row.name, row.originatingSessionIds),
  ...row,
  version: semverOf(row.versionNumber),
});

const only = ({ rows: [row] }: { rows: Row[] }): Skill | null => (row ? shown(row) : null);

/** A PostgreSQL array from a JSON array. */
const textsOf = (parameter: string) => `array(select jsonb_array_elements_text(${parameter}::jsonb))`;

/** The claims whose text is still in the content. */
export const storedClaims = (content: string) =>
  `(select coalesce(jsonb_agg(claim order by place), '[]')
      from jsonb_array_elements(claims) with ordinality as of_it (claim, place)
     where strpos(${content}, claim ->> 'text') > 0)`;

export type NewSkill = Pick<Skill, 'name' | 'description' | 'type' | 'visibility' | 'tags' | 'content'> & {
  claims?: readonly SkillClaim[];
  isAiGenerated?: boolean;
  originatingSessionIds?: readonly string[];
  authorId: string | null;
};

export async function createSkill(db: Db, skill: NewSkill): Promise<Skill> {
  const { name, description, type, visibility, tags, content, authorId } = skill;
  const { claims = [], isAiGenerated = false, originatingSessionIds = [] } = skill;
  const inserted = await db.query<Row>(
    `insert into skills (name, description, type, visibility, tags, content, claims, is_ai_generated,
                         generated_from_session_ids, author_subject, edited)
     values ($1, $2, $3, $4, ${textsOf('$5')}, $6, $7::jsonb, $8::boolean, ${textsOf('$9')}, $10, not $8::boolean)
     returning ${SHOWN}`,
    [name, description, type, visibility, tags, content, claims, isAiGenerated, originatingSessionIds, authorId],
  );
  return only(inserted) as Skill;
}

export const readSkill = async (db: Db, id: string): Promise<Skill | null> =>
  only(await db.query<Row>(`select ${SHOWN} from skills where id = $1::uuid`, [id]));

/** Members that are left out keep their value. */
export async function updateSkill(db: Db, id: string, update: SkillUpdate): Promise<Skill | null> {
  const { name, description, type, visibility, tags, content } = update;
  return only(
    await db.query<Row>(
      `update skills
          set name = coalesce($2::text, name), description = coalesce($3::text, description), type = coalesce($4::text, type),
              visibility = coalesce($5::text, visibility),
              tags = case when $6::jsonb is null then tags else ${textsOf('$6')} end,
              content = coalesce($7::text, content),
              claims = case when $7::text is null then claims else ${storedClaims('$7::text')} end,
              edited = edited or $2::text is not null or $3::text is not null or $6::jsonb is not null or $7::text is not null,
              updated_at = now()
        where id = $1::uuid
        returning ${SHOWN}`,
      [id, name, description, type, visibility, tags, content],
    ),
  );
}

/** A new skill with the content of another; the published versions are not copied. */
export const duplicateSkill = async (db: Db, id: string, authorId: string | null): Promise<Skill | null> =>
  only(
    await db.query<Row>(
      `insert into skills (parent_id, name, description, type, tags, content, claims, is_ai_generated,
                           generated_from_session_ids, author_subject, edited)
       select id, left(name, 190) || ' (copy)', description, type, tags, content, claims, is_ai_generated,
              generated_from_session_ids, $2::text, edited
         from skills where id = $1::uuid
       returning ${SHOWN}`,
      [id, authorId],
    ),
  );

/** Deletes a skill with its versions. `forbidden`: it has another creator. */
export async function deleteSkill(
  db: Db,
  id: string,
  caller: string | null,
): Promise<'deleted' | 'forbidden' | 'unknown'> {
  const { rows } = await db.query<{ forbidden: boolean; gone: boolean }>(
    `with gone as (
       delete from skills where id = $1::uuid and (author_subject is null or author_subject = $2::text) returning id
     )
     select exists (select 1 from gone) as gone,
            exists (select 1 from skills where id = $1::uuid and author_subject is not null
                                           and author_subject is distinct from $2::text) as forbidden`,
    [id, caller],
  );
  const [row] = rows;
  if (row?.gone) return 'deleted';
  return row?.forbidden ? 'forbidden' : 'unknown';
}

/** Deletes a skill, whoever created it. */
export async function removeSkill(db: Db, id: string): Promise<void> {
  await db.query('delete from skills where id = $1::uuid', [id]);
}

/** Reads a skill and counts the download, in one statement. */
export const downloadSkill = async (db: Db, id: string): Promise<Skill | null> =>
  only(
    await db.query<Row>(
      `update skills set download_count = download_count + 1 where id = $1::uuid returning ${SHOWN}`,
      [id],
    ),
  );

export type SkillFilter = { q: string | undefined; scope: SkillScope; caller: string | null };
/** The key at which a page ended. `at` of a list by downloads is empty. */
export type SkillCursor = { at: string; downloads: number; id: string };

const MATCHES = `($1::text is null or name ilike $1::text or description ilike $1::text
  or exists (select 1 from unnest(tags) as of_it (tag) where tag ilike $1::text))`;
const MINE = 'author_subject is not distinct from $2::text';
const IN_SCOPE = `case $3::text when 'mine' then ${MINE} when 'team' then visibility = 'team' else true end`;

const patternOf = (q: string | undefined): string | null =>
  q === undefined || q === '' ? null : `%${q.replace(/[\\%_]/g, '\\$&')}%`;
const valuesOf = ({ q, scope, caller }: SkillFilter) => [patternOf(q), caller, scope];

const EXACT = `to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const PAGES: Record<Sort, string> = {
  updated: `select ${SHOWN}, ${EXACT} as at from skills
    where ${MATCHES} and ${IN_SCOPE} and ($4::timestamptz is null or (updated_at, id) < ($4::timestamptz, $5::uuid))
    order by updated_at desc, id desc limit $6::int`,
  downloads: `select ${SHOWN}, ${EXACT} as at from skills
    where ${MATCHES} and ${IN_SCOPE} and ($4::bigint is null or (download_count, id) < ($4::bigint, $5::uuid))
    order by download_count desc, id desc limit $6::int`,
};

/** One page; `next` is where the following one begins, null on the last. */
export async function listSkills(db: Db, filter: SkillFilter, sort: Sort, after: SkillCursor | null, limit: number) {
  const from = after && (sort === 'downloads' ? after.downloads : after.at);
  const { rows } = await db.query<Row & { at: string }>(PAGES[sort], [
    ...valuesOf(filter),
    from,
    after?.id ?? null,
    limit + 1,
  ]);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  const next: SkillCursor | null = last ? { at: last.at, downloads: last.downloadCount, id: last.id } : null;
  return { items: page.map(({ at: _, ...row }) => shown(row)), next };
}

const OF_SESSION = `select ${SHOWN} from skills
  where ${MATCHES} and ${IN_SCOPE} and generated_from_session_ids @> array[lower($4::text)]`;

/** All skills that were generated from the session. */
export async function skillsOfSession(db: Db, filter: SkillFilter, sort: Sort, sessionId: string): Promise<Skill[]> {
  const order = sort === 'downloads' ? 'download_count desc, id desc' : 'updated_at desc, id desc';
  const { rows } = await db.query<Row>(`${OF_SESSION} order by ${order}`, [...valuesOf(filter), sessionId]);
  return rows.map(shown);
}

export type Counts = { all: number; mine: number; team: number };

/** The number of matches in each scope. */
export async function countSkills(db: Db, { q, caller }: SkillFilter): Promise<Counts> {
  const { rows } = await db.query<Counts>(
    `select count(*) as "all", count(*) filter (where ${MINE}) as mine, count(*) filter (where visibility = 'team') as team
       from skills where ${MATCHES}`,
    [patternOf(q), caller],
  );
  return rows[0] ?? { all: 0, mine: 0, team: 0 };
}
