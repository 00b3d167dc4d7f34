/** The name of each skill that is unique among all: its slug, with a part of its id where an older skill has the same slug. */
import type { Db } from '../../core/cassette/contract.ts';
import { slugOf } from './skill-md.ts';

export type NamedSkill = { id: string; name: string; title: string; description: string };

const MOST_SKILLS = 10_000;

type Row = { id: string; title: string; description: string; session_ids: string[] };

/** Skills with content, by name. A name stays as it is while skills are added. */
export async function namedSkills(db: Db): Promise<NamedSkill[]> {
  const { rows } = await db.query<Row>(
    `select id, name as title, description, generated_from_session_ids[1:1] as session_ids
       from skills where content ~ '\\S' order by created_at, id limit $1::int`,
    [MOST_SKILLS],
  );
  const taken = new Set<string>();
  return rows
    .map(({ id, title, description, session_ids }) => {
      const slug = slugOf(title, session_ids);
      const name = [slug, `${slug}-${id.slice(0, 8)}`].find((one) => !taken.has(one)) ?? `${slug}-${id}`;
      taken.add(name);
      return { id, name, title, description };
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The id; null: no skill has that name. */
export const skillNamed = async (db: Db, name: string): Promise<string | null> =>
  (await namedSkills(db)).find((skill) => skill.name === name)?.id ?? null;
