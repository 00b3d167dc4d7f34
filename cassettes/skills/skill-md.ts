/** How does a skill read as a file? As the Agent Skills format has it: front matter that every reader of YAML agrees on, then Markdown. */
import { parse, stringify } from 'yaml';
import { MOST, type Skill } from './model.ts';

const MOST_SLUG = 64;

/**
 * What the folder of a skill may be called: 1 to 64 of a-z, 0-9 and single hyphens between them.
 * @param sessionIds what a generated skill without a word in its name is called after
 */
export function slugOf(name: string, sessionIds: readonly string[] = []): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MOST_SLUG)
    .replace(/-$/, '');
  if (slug !== '') return slug;
  const [first] = sessionIds;
  return first === undefined ? 'skill' : `skill-from-${first.slice(0, 8)}`;
}

export type Written = Pick<
  Skill,
  'slug' | 'name' | 'description' | 'version' | 'type' | 'tags' | 'content' | 'originatingSessionIds' | 'createdAt'
>;

/** `SKILL.md` of the folder `slug`. */
export function skillMd({ content, ...skill }: Written): string {
  const { slug, name, version, type, tags, originatingSessionIds, createdAt } = skill;
  const front = {
    name: slug,
    description: descriptionOf(skill),
    metadata: {
      title: name,
      version,
      type,
      ...(tags.length > 0 ? { tags: tags.join(', ') } : {}),
      ...(originatingSessionIds.length > 0 ? { sessions: originatingSessionIds.join(' ') } : {}),
      created_at: createdAt,
    },
  };
  // Quoted as JSON: one line each, and no word that a reader could take for a number, a date or an end of the front matter.
  const yaml = stringify(front, {
    ...{ defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', doubleQuotedAsJSON: true, lineWidth: 0 },
  });
  const body = withoutFront(content).trim();
  return `---\n${yaml}---\n\n${body === '' ? `# ${name.replace(/\s+/g, ' ')}` : body}\n`;
}

/** 1 to 1,024 characters, no pair of surrogates torn. */
function descriptionOf({ description, name, slug }: Pick<Written, 'description' | 'name' | 'slug'>): string {
  const told = [description, name].map((text) => text.trim()).find((text) => text !== '') ?? slug;
  return told.slice(0, MOST.description).replace(/[\ud800-\udbff]$/, '');
}

/** Content that was pasted with the front matter of a SKILL.md has one of its own. */
function withoutFront(content: string): string {
  const front = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(content);
  if (!front) return content;
  try {
    const read: unknown = parse(front[1] ?? '');
    return typeof read === 'object' && read !== null && 'name' in read ? content.slice(front[0].length) : content;
  } catch {
    return content; // a line, and text that is no YAML
  }
}
