/** The store of versions. Number, snapshot and bump of the head are written in one statement, so that concurrent publishers are safe. */
import type { Db } from '../../core/cassette/contract.ts';
import type { Version } from './model.ts';
import { semverOf, storedClaims } from './store.ts';

const SHOWN = `skill_id as "skillId", version_number as "versionNumber",
  to_char(published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "publishedAt", changelog, name, description, type, tags,
  content, author_subject as "authorId"`;
type Row = Omit<Version, 'id' | 'semver'>;

const shown = ({ skillId, versionNumber, ...row }: Row): Version => ({
  id: `${skillId}-v${versionNumber}`,
  skillId,
  versionNumber,
  semver: semverOf(versionNumber),
  ...row,
});

export type Publishing = {
  content: string | undefined;
  changelog: string;
  authorId: string | null;
  /** Makes a retry safe. */
  idempotencyKey: string | null;
  /** The fingerprint of the request. */
  fingerprint: string;
};

/**
 * The lock on the head's row serialises publishers, so each gets the next number. Two concurrent requests with one key conflict at the
 * unique index: the later one is rolled back and retried.
 */
const PUBLISH = `
with known as (
  select * from skill_versions where skill_id = $1::uuid and idempotency_key = $2::text
), head as (
  update skills
     set version_number = version_number + 1, content = coalesce($3::text, content),
         claims = case when $3::text is null then claims else ${storedClaims('$3::text')} end,
         edited = edited or $3::text is not null, updated_at = now()
   where id = $1::uuid and not exists (select 1 from known)
   returning *
), made as (
  insert into skill_versions (skill_id, version_number, name, description, type, tags, content, claims, changelog,
                              author_subject, idempotency_key, fingerprint)
  select id, version_number, name, description, type, tags, content, claims, $4::text, $5::text, $2::text, $6::text from head
  returning *
)
select ${SHOWN}, fingerprint from made union all select ${SHOWN}, fingerprint from known`;

const ATTEMPTS = 4;
const RACED = /^(?:23505|40001|40P01)$/;

/** null: there is no such skill. `reused`: the key was sent before with another body. @throws DatabaseError */
export async function publishVersion(db: Db, id: string, publication: Publishing): Promise<Version | 'reused' | null> {
  const { content, changelog, authorId, idempotencyKey, fingerprint } = publication;
  for (let attempt = 1; ; attempt++) {
    try {
      const parameters = [id, idempotencyKey, content, changelog, authorId, fingerprint];
      const { rows } = await db.query<Row & { fingerprint: string }>(PUBLISH, parameters);
      const [row] = rows;
      if (!row) return null;
      const { fingerprint: storedFingerprint, ...version } = row;
      return storedFingerprint === fingerprint ? shown(version) : 'reused';
    } catch (error) {
      const { sqlstate = '' } = error as { sqlstate?: string };
      if (attempt === ATTEMPTS || !RACED.test(sqlstate)) throw error;
    }
  }
}

/** The newest first; none where there is no such skill. */
export async function* versionsOf(db: Db, id: string): AsyncGenerator<Version, void> {
  const versions = db.stream<Row>(
    `select ${SHOWN} from skill_versions where skill_id = $1::uuid order by version_number desc`,
    [id],
  );
  for await (const row of versions) yield shown(row);
}
