/** A check that a folder is an agent skill: the rules of the Agent Skills format (agentskills.io), as its own validator has them. */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseDocument } from 'yaml';

const KNOWN = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];

/** What is wrong with the folder; empty: it is an agent skill. */
export async function skillProblems(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'SKILL.md'), 'utf8').catch(() => null);
  return text === null ? ['there is no SKILL.md'] : skillTextProblems(text, basename(folder));
}

export function skillTextProblems(text: string, folder: string): string[] {
  const front = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1];
  if (front === undefined) return ['it has no front matter'];
  const document = parseDocument(front, { version: '1.1', strict: true }); // 1.1 reads the most words as something other than text
  if (document.errors.length > 0)
    return document.errors.map(({ message }) => `its front matter is no YAML: ${message}`);
  const read = document.toJS() as Record<string, unknown>;
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return ['its front matter is no map'];
  const { name, description, license, compatibility, metadata, 'allowed-tools': allowedTools } = read;
  const textOf = (key: string, value: unknown, most: number) =>
    value === undefined || (typeof value === 'string' && value !== '' && [...value].length <= most)
      ? []
      : [`${key} is no text of 1 to ${most} characters`];
  const isTexts = (value: unknown) =>
    typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string');
  return [
    ...Object.keys(read)
      .filter((key) => !KNOWN.includes(key))
      .map((key) => `"${key}" is not of the format`),
    ...(name === undefined ? ['it has no name'] : textOf('name', name, 64)),
    ...(/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(String(name)) ? [] : ['name is not of a-z, 0-9 and single hyphens between']),
    ...(name === folder ? [] : ['name is not that of the folder']),
    ...(typeof description === 'string' && description.trim() !== '' ? [] : ['it has no description']),
    ...textOf('description', description, 1024),
    ...textOf('license', license, 1000),
    ...textOf('compatibility', compatibility, 500),
    ...textOf('allowed-tools', allowedTools, 1000),
    ...(metadata === undefined || isTexts(metadata) ? [] : ['metadata is no map of texts']),
    ...(text.slice(text.indexOf('\n---\n') + 5).trim() === '' ? ['it has no body'] : []),
  ];
}
