/** Reads of the skills cassette, whose JSON is in camelCase. */
import { download } from './download.ts';
import { request } from './request.ts';
import { requireCassette } from './service.ts';

export type SkillEntryClaim = { text: string; spans: { sessionId: string; traceId: string; spanId: string }[] };

export type SkillEntry = {
  id: string;
  slug: string;
  name: string;
  description: string;
  type: string;
  version: string;
  /** 0: none was published. */
  versionNumber: number;
  tags: string[];
  /** Markdown. */
  content: string;
  claims: SkillEntryClaim[];
  isAiGenerated: boolean;
  originatingSessionIds: string[];
  downloadCount: number;
  updatedAt: string;
};

export type SkillVersion = {
  id: string;
  versionNumber: number;
  semver: string;
  publishedAt: string;
  changelog: string;
  content: string;
};

const PATH = '/v1/cassettes/skills';

/** @param query `q`, `sort` and `cursor`, named as the API names them */
export async function listSkills(
  query: URLSearchParams,
  signal?: AbortSignal,
): Promise<{ items: SkillEntry[]; next_cursor?: string }> {
  await requireCassette('skills', signal);
  return request(`${PATH}?${query}`, { signal });
}

export const readSkill = (id: string, signal?: AbortSignal): Promise<SkillEntry> =>
  request(`${PATH}/${encodeURIComponent(id)}`, { signal });

/** The newest first. */
export const listVersions = async (id: string, signal?: AbortSignal): Promise<SkillVersion[]> =>
  (await request<{ versions: SkillVersion[] }>(`${PATH}/${encodeURIComponent(id)}/versions`, { signal })).versions;

/** As a file that agents take; each download counts. */
export const downloadSkill = ({ id, slug }: Pick<SkillEntry, 'id' | 'slug'>): Promise<void> =>
  download(`${PATH}/${encodeURIComponent(id)}/skill.md`, `${slug}.md`);
