/** A configuration file with every setting, commented out at its default, below its meaning. */
import { type ConfigKey, keys } from '../../config/keys.ts';
import { tomlLiteral } from './edit-toml.ts';

/** Settings of no table stand first, since TOML counts what follows a table's header as part of it. */
export function configTemplate(): string {
  const sections = [...new Set(keys.map(sectionOf))].sort((a, b) => Number(b === '') - Number(a === ''));
  return HEAD + sections.map((section) => `\n${table(section)}`).join('');
}

const HEAD = `# The settings of svc. Each stands here at its default; without the '#' before it, it is yours to change.
# 'svc config list' shows what is in effect, and where it comes from; 'svc config set' changes a line here.
version = 0
`;

const sectionOf = ({ path }: ConfigKey) => path.split('.').slice(0, -1).join('.');

function table(section: string): string {
  const lines = keys.filter((key) => sectionOf(key) === section && key.path !== 'version').map(entry);
  return (section === '' ? '' : `[${section}]\n`) + lines.join('\n');
}

function entry({ path, description, choices, default: fallback, example = false }: ConfigKey): string {
  const among = choices.length > 0 ? ` (${choices.join(', ')})` : '';
  const shown = fallback === undefined ? `${example}  # not set, unless you do` : tomlLiteral(fallback);
  return `# ${description}${among}\n# ${path.split('.').at(-1)} = ${shown}\n`;
}
