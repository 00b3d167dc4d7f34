/** Every regular expression in the product's source, and the texts that are the worst for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';
import ts from 'typescript';
import { packageRoot } from '../../core/package-root.ts';

export type Pattern = { where: string; literal: string; source: string; flags: string };

const ROOMS = ['core', 'proxy', 'ingest', 'cassettes'];

/** Regular expressions as TypeScript's own scanner finds them; those that `new RegExp` builds at run time are not included. */
export function patternsOfProduct(): Pattern[] {
  const root = packageRoot();
  return ROOMS.flatMap((room) => sourcesIn(join(root, room))).flatMap((path) => {
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    const found: Pattern[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        const end = node.text.lastIndexOf('/');
        const parts = { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
        found.push({ where: `${relative(root, path)}:${line}`, literal: node.text, ...parts });
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });
}

const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|mjs)$/.test(path) && !path.includes('scaffold'))
    .map((path) => join(folder, path));

const CANDIDATES = [...' aA0\n-_.:/=<>"\'`\\@{[(#%+,;!*~|&?]})$^\t\r\0\u00e9\ud800', 'k', 'x'];
/** Text that makes a match fail late. */
const ELSE = ['\0', '\n'];

export type Attack = { before: string; piece: string };

/** Each kind of character that it names, repeated: alone, behind each beginning of a match, and with whole matches all but made. */
export function attacksOn({ source, flags }: Pattern): Attack[] {
  const parsed = new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.includes('u') });
  const characters = new Set<string>();
  const beginnings = new Set<string>(['']);
  const addAll = (some: readonly string[]) => {
    for (const one of some) characters.add(one);
  };
  const sample = (node: AST.Element): string => {
    switch (node.type) {
      case 'Quantifier':
        return sample(node.element).repeat(Math.min(Math.max(node.min, 1), 40));
      case 'Group':
      case 'CapturingGroup':
        return node.alternatives[0]?.elements.map(sample).join('') ?? '';
      case 'Assertion':
        return node.kind === 'lookbehind' ? (node.alternatives[0]?.elements.map(sample).join('') ?? '') : '';
      case 'Backreference':
        return '';
      case 'Character':
        return String.fromCodePoint(node.value);
      default:
        return samplesOf(node.raw, flags)[0] ?? '';
    }
  };
  visitRegExpAST(parsed, {
    onAlternativeEnter({ elements }) {
      let made = '';
      for (const element of elements) {
        made += sample(element);
        if (beginnings.size < MOST_BEGINNINGS) beginnings.add(made);
      }
    },
    onCharacterEnter: ({ value }) => void characters.add(String.fromCodePoint(value)),
    onCharacterSetEnter: ({ raw }) => addAll(samplesOf(raw, flags)),
    onCharacterClassEnter: ({ raw }) => addAll(samplesOf(raw, flags)),
  });
  const single = [...characters].slice(0, MOST_CHARACTERS);
  const between = [...single.filter((one) => /\W/.test(one)), ...ELSE];
  const attacks = [...beginnings].flatMap((before) => [
    ...single.map((piece) => ({ before, piece })),
    ...(before === '' ? [] : ['', ...between].map((rest) => ({ before: '', piece: before + rest }))),
  ]);
  return attacks.slice(0, MOST_ATTACKS);
}

const MOST_CHARACTERS = 8;
const MOST_BEGINNINGS = 12;
const MOST_ATTACKS = 100;

/** A character of a word, and one that separates words. */
function samplesOf(raw: string, flags: string): string[] {
  const one = new RegExp(`^(?:${raw})$`, flags.replace(/[gy]/g, ''));
  const fit = CANDIDATES.filter((candidate) => one.test(candidate));
  const kinds = [fit.find((candidate) => /\w/.test(candidate)), fit.find((candidate) => /\W/.test(candidate))];
  return kinds.filter((kind) => kind !== undefined);
}
