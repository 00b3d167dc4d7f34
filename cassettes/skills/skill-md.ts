/** A skill as a file in the Agent Skills format: front matter that every reader of YAML reads alike, then Markdown. */
import { parse, stringify } from 'yaml';
import { isObject } from '../../core/parse-json.ts';
import { MOST, type Skill } from './model.ts';

const MOST_SLUG = 64;

/**
 * The name for the folder of a skill: 1 to 64 of a-z, 0-9 and single hyphens between them.
 * @param sessionIds the slug comes from the first one when the name of a generated skill has no usable character
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
  // Values are quoted as JSON: one line each, so that none can be read as a number, a date or the end of the front matter.
  const yaml = stringify(front, {
    ...{ defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', doubleQuotedAsJSON: true, lineWidth: 0 },
  });
  return `---\n${yaml}---\n\n${skillText({ name, content })}\n`;
}

/** The content without front matter; of an empty one its name as a heading. */
export function skillText({ name, content }: Pick<Written, 'name' | 'content'>): string {
  const body = withoutFront(content).trim();
  return body === '' ? `# ${name.replace(/\s+/g, ' ')}` : body;
}

/** 1 to 1,024 characters, without half a surrogate pair at the end. */
function descriptionOf({ description, name, slug }: Pick<Written, 'description' | 'name' | 'slug'>): string {
  const chosen = [description, name].map((text) => text.trim()).find((text) => text !== '') ?? slug;
  return chosen.slice(0, MOST.description).replace(/[\ud800-\udbff]$/, '');
}

/** Removes front matter from content that was pasted from a SKILL.md. */
function withoutFront(content: string): string {
  const front = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(content);
  if (!front) return content;
  try {
    const parsed: unknown = parse(front[1] ?? '', { logLevel: 'error' }); // a warning would quote the text on stderr
    return isObject(parsed) && 'name' in parsed ? content.slice(front[0].length) : content;
  } catch {
    return content; // a horizontal rule, followed by text that is no YAML
  }
}
