/** The languages that are highlighted, and the names by which people call them. One file of the bundle: together they compress to half. */
import type { LanguageFn } from 'highlight.js';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

export const GRAMMARS: Readonly<Record<string, LanguageFn>> = {
  ...{ bash, cpp, css, diff, go, java, json, markdown, python, rust, sql, typescript, xml, yaml },
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{ sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash' },
  ...{ c: 'cpp', h: 'cpp', hpp: 'cpp', cc: 'cpp', 'c++': 'cpp' }, // that of C++ has all of C
  ...{ javascript: 'typescript', js: 'typescript', jsx: 'typescript', mjs: 'typescript', cjs: 'typescript' },
  ...{ ts: 'typescript', tsx: 'typescript', jsonc: 'json', patch: 'diff', md: 'markdown' },
  ...{ py: 'python', rs: 'rust', html: 'xml', svg: 'xml', yml: 'yaml' },
};

/** The name of the grammar; null: we have none. @param language as people write it */
export function grammarOf(language: string): string | null {
  const name = language.toLowerCase();
  const grammar = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : name;
  return grammar !== undefined && Object.hasOwn(GRAMMARS, grammar) ? grammar : null;
}
