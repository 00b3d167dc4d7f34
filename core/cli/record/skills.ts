/** `svc skills`: the skills of the skills cassette, listed, shown, kept in a folder for agents, and generated from sessions. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pc from 'picocolors';
import type { Skill } from '../../../cassettes/skills/model.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { plain, plainLines, shortAge } from '../units.ts';
import { sessionOf } from './session-of.ts';
import { table } from './table.ts';

const BASE = '/v1/cassettes/skills';
const PAGE = 100;

type SkillPage = { items: Skill[]; next_cursor?: string };

/** @param query null: all */
export async function listSkills(
  { query, json }: { query: string | null; json: boolean },
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const skills = await allSkills(await openApiClient(loaded), query);
  if (json) return printJson({ items: skills }, io);
  if (skills.length === 0)
    return void io.err("There is no skill; 'svc skills generate last' makes one of the last session\n");
  const now = Date.now();
  io.out(
    table(
      skills,
      [
        { title: 'ID', text: ({ id }) => id.slice(0, 8), colour: pc.dim },
        { title: 'NAME', text: ({ slug }) => slug },
        { title: 'WHAT FOR', text: ({ description }) => description.replace(/\s+/g, ' '), fills: true },
        { title: 'VERSION', text: ({ version, versionNumber }) => (versionNumber === 0 ? 'draft' : version), drops: 1 },
        { title: 'CHANGED', text: ({ updatedAt }) => shortAge(updatedAt, now), drops: 2 },
      ],
      io.columns,
    ),
  );
}

/** Prints a skill's SKILL.md, or with `output` keeps it as `<output>/<name>/SKILL.md`, where agents look for it. */
export async function showSkill(
  word: string,
  { output, json }: { output: string | null; json: boolean },
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const skill = await skillOf(word, api);
  if (json) return printJson(skill, io);
  const headers = { accept: 'text/markdown' };
  const file = await text(
    await api.response({ path: `${BASE}/${skill.id}/skill.md`, what: 'read the skill', headers }),
  );
  if (output === null) return io.out(`${(io.isTerminal ? plainLines(file).join('\n') : file).trimEnd()}\n`);
  const folder = join(output, skill.slug);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'SKILL.md'), file);
  io.err(`Kept in ${join(folder, 'SKILL.md')}\n`);
}

/** Prints the id of the new skill. @param hint null: none */
export async function generateSkill(
  words: readonly string[],
  { name, json }: { name: string | null; json: boolean },
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const sessionIds: string[] = [];
  for (const word of words) sessionIds.push(await sessionOf(word, api, io.home));
  const body = { sessionIds, ...(name !== null && { hint: { name } }) };
  const skill = await api.json<Skill>({
    ...{ method: 'POST', path: `${BASE}/generate`, body },
    what: 'generate the skill',
    timeoutMs: GENERATION_MS,
  });
  if (json) return printJson(skill, io);
  io.out(`${skill.id}\n`);
  io.err(`Generated '${plain(skill.name)}'; 'svc skills show ${skill.id.slice(0, 8)}' prints it\n`);
}

/** A model reads whole conversations. */
const GENERATION_MS = 120_000;

async function allSkills(api: ApiClient, query: string | null): Promise<Skill[]> {
  const skills: Skill[] = [];
  let cursor: string | undefined;
  do {
    const parameters = new URLSearchParams({ limit: String(PAGE) });
    if (query !== null) parameters.set('q', query);
    if (cursor !== undefined) parameters.set('cursor', cursor);
    const page: SkillPage = await api.json({ path: `${BASE}?${parameters}`, what: 'list the skills' });
    skills.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return skills;
}

/** @param word its id, the beginning of it, or its name as a folder has it */
async function skillOf(word: string, api: ApiClient): Promise<Skill> {
  const all = await allSkills(api, null);
  const found = all.filter(({ id, slug }) => slug === word || (word.length >= 4 && id.startsWith(word.toLowerCase())));
  if (found.length > 1)
    throw new OperatorError(
      `Cannot tell which skill '${plain(word)}' is: there are ${found.map(({ id }) => id).join(', ')}`,
    );
  if (found[0]) return found[0];
  throw new OperatorError(`Cannot find the skill '${plain(word)}': there is none; 'svc skills list' lists them`);
}
