/** Code as runs with looks, by the grammars of highlight.js. */
import { createLowlight } from 'lowlight';
import { GRAMMARS, grammarOf } from './code-grammars.ts';
import type { Highlight } from './markdown-tokens.ts';
import type { Look, TextRun } from './tokens.ts';

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

const lowlight = createLowlight(GRAMMARS);

export const highlight: Highlight = (language, text) => {
  const name = grammarOf(language);
  if (name === null) return [{ text, looks: [] }];
  const runs: TextRun[] = [];
  collect(lowlight.highlight(name, text).children, [], runs);
  return runs;
};

type Node = { type: string; value?: unknown; properties?: { className?: unknown }; children?: Node[] };

function collect(nodes: readonly unknown[], looks: readonly Look[], runs: TextRun[]): void {
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
