/** Code as runs with looks, by the grammars of highlight.js, each loaded when a text needs it. */
import type { LanguageFn } from 'highlight.js';
import { createLowlight } from 'lowlight';
import type { Highlight } from './markdown-tokens.ts';
import type { Look, Run } from './tokens.ts';

type Grammar = () => Promise<{ default: LanguageFn }>;

const GRAMMARS: Readonly<Record<string, Grammar>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  python: () => import('highlight.js/lib/languages/python'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{
    sh: 'bash',
    shell: 'bash',
    zsh: 'bash',
    console: 'bash',
    h: 'c',
    hpp: 'cpp',
    cc: 'cpp',
    'c++': 'cpp',
    patch: 'diff',
  },
  ...{
    toml: 'ini',
    js: 'javascript',
    jsx: 'javascript',
    mjs: 'javascript',
    cjs: 'javascript',
    jsonc: 'json',
    md: 'markdown',
  },
  ...{
    py: 'python',
    rb: 'ruby',
    rs: 'rust',
    ts: 'typescript',
    tsx: 'typescript',
    html: 'xml',
    svg: 'xml',
    yml: 'yaml',
  },
};

const LOOKS: Readonly<Record<string, Look>> = {
  ...{
    keyword: 'keyword',
    built_in: 'title',
    type: 'title',
    class: 'title',
    title: 'title',
    function: 'title',
    section: 'title',
  },
  ...{ string: 'string', regexp: 'string', addition: 'string', link: 'string', number: 'number', symbol: 'number' },
  ...{
    comment: 'comment',
    quote: 'comment',
    doctag: 'comment',
    deletion: 'keyword',
    name: 'keyword',
    'selector-tag': 'keyword',
  },
  ...{ attr: 'attribute', attribute: 'attribute', property: 'attribute', variable: 'attribute', params: 'attribute' },
  ...{ literal: 'literal', meta: 'meta', operator: 'punctuation', punctuation: 'punctuation' },
};

const lowlight = createLowlight();

/** The name of the grammar; null: we have none. @param language as people write it */
export function grammarOf(language: string): string | null {
  const name = language.toLowerCase();
  const grammar = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : name;
  return grammar !== undefined && Object.hasOwn(GRAMMARS, grammar) ? grammar : null;
}

export async function loadGrammar(language: string): Promise<Highlight> {
  const name = grammarOf(language);
  const load = name === null ? undefined : GRAMMARS[name];
  if (name !== null && load && !lowlight.registered(name)) lowlight.register(name, (await load()).default);
  return highlight;
}

/** Loads the grammars of all fenced blocks of a text. */
export async function loadGrammars(markdown: string): Promise<Highlight> {
  const names = new Set([...markdown.matchAll(/^[ >]*(?:```+|~~~+) *([\w+#-]{1,20})/gm)].map(([, name = '']) => name));
  await Promise.all([...names].map(loadGrammar));
  return highlight;
}

function highlight(language: string, text: string): Run[] {
  const name = grammarOf(language);
  if (name === null || !lowlight.registered(name)) return [{ text, looks: [] }];
  const runs: Run[] = [];
  collect(lowlight.highlight(name, text).children, [], runs);
  return runs;
}

type Node = { type: string; value?: unknown; properties?: { className?: unknown }; children?: Node[] };

function collect(nodes: readonly unknown[], looks: readonly Look[], runs: Run[]): void {
  for (const node of nodes as readonly Node[]) {
    if (node.type === 'text') runs.push({ text: String(node.value), looks });
    else collect(node.children ?? [], lookOf(node) ?? looks, runs);
  }
}

function lookOf({ properties }: Node): readonly Look[] | null {
  const names = Array.isArray(properties?.className) ? properties.className.map(String) : [];
  for (const name of names) {
    const scope = name.replace(/^hljs-/, '');
    const look = Object.hasOwn(LOOKS, scope) ? LOOKS[scope] : undefined;
    if (look) return [look];
  }
  return null;
}
