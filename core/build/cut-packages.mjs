/** What the bundle leaves out of packages: every place that makes HTML of a string, what only a server needs or no page of ours does, and
 *  lists that a pattern says. */
import { readFile } from 'node:fs/promises';

/** By the end of a file's path. Each pattern matches once; where one does not, the package has changed, and has to be looked at again. */
const CUTS = {
  'preact/dist/preact.mjs': [
    [/\b\w+\.__html==\w+\.innerHTML\b/, '!0'], // is it the same as before?
    [/\(\w+\.innerHTML=\w+\.__html\)/, '(0)'], // `dangerouslySetInnerHTML` has no effect
  ],
  'highlight.js/lib/core.js': [
    [
      /^ {2}Object\.assign\(hljs, \{$[^}]*^ {2}\}\);$/m, // what is not assigned is left out by the bundler: it works on elements, or is old
      'Object.assign(hljs, { highlight, configure, registerLanguage, getLanguage, registerAliases, inherit });',
    ],
  ],
  'highlight.js/es/languages/css.js': [
    [/^const ATTRIBUTES = \[[^\]]*\]\.sort\(\)\.reverse\(\);$/m, String.raw`const ATTRIBUTES = ['[a-z-]+(?=:\\s)'];`], // 500 names
    [
      /^const SVG_TAGS = \[[^\]]*\];$/m,
      "const SVG_TAGS = ['circle', 'defs', 'ellipse', 'g', 'line', 'path', 'polygon', 'polyline', 'rect', 'text', 'use'];",
    ],
    [/^const MEDIA_FEATURES = \[[^\]]*\]\.sort\(\)\.reverse\(\);$/m, 'const MEDIA_FEATURES = [];'], // a name before a colon is one
    [
      /^const PSEUDO_CLASSES = \[[^\]]*\]\.sort\(\)\.reverse\(\);$/m,
      'const PSEUDO_CLASSES = ["(?:first|last|nth|only)-[a-z-]+|focus[a-z-]*|active|checked|disabled|empty|enabled|has|hover|is|not|root|target|visited|where"];',
    ], // those that are used
  ],
  'highlight.js/es/languages/cpp.js': [
    [/^ {2}const TYPE_HINTS = \[[^\]]*\];$/m, 'const TYPE_HINTS = [];'], // hints tell languages apart, and look like other words
    [/^ {2}const FUNCTION_HINTS = \[[^\]]*\];$/m, 'const FUNCTION_HINTS = [];'],
  ],
  '@tanstack/virtual-core/dist/esm/index.js': [
    [
      /^ *const measurements = this\.measurementsCache\.slice\(0, min\);\n[\s\S]*?^ *return measurements;$/m,
      'throw new Error("a list has one lane");',
    ],
  ],
  'preact-iso/src/index.js': [
    [/^export function prerender\(\w+, \w+\) \{\n\treturn import\('\.\/prerender\.js'\)[^\n]*\n\}$/m, ''], // a renderer for servers
  ],
};

const filter = new RegExp(`[\\\\/]node_modules[\\\\/](?:${Object.keys(CUTS).map(patternOf).join('|')})$`);

export const cutPackages = {
  name: 'cut-packages',
  load: {
    filter: { id: filter },
    handler: async (path) => {
      const [name, cuts] = Object.entries(CUTS).find(([end]) => new RegExp(`${patternOf(end)}$`).test(path));
      let code = await readFile(path, 'utf8');
      for (const [pattern, instead] of cuts) {
        if (code.match(new RegExp(pattern, `${pattern.flags}g`))?.length !== 1)
          throw new Error(`Cannot bundle ${name}: ${pattern} is not in it exactly once, so it cannot be cut out`);
        code = code.replace(pattern, instead);
      }
      return { code, moduleType: 'js' };
    },
  },
};

function patternOf(path) {
  return path.replaceAll('.', '\\.').replaceAll('/', '[\\\\/]');
}
