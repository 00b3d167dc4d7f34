/** Markdown as blocks, by the lexer of `marked`. Its HTML stays text, an image becomes its address, a link only what leads to the web. */
import { Lexer, type Tokens as Marked, type Token } from 'marked';
import type { Inline, MarkdownBlock, TextRun } from './tokens.ts';
import { webLink } from './web-link.ts';

export type Highlight = (language: string, text: string) => TextRun[];

const DEEPEST = 40;

/** @param highlight null: code stays plain */
export const markdownBlocks = (text: string, highlight: Highlight | null): MarkdownBlock[] =>
  blocksOf(new Lexer({ gfm: true }).lex(text), highlight, 0);

function blocksOf(tokens: readonly Token[], highlight: Highlight | null, depth: number): MarkdownBlock[] {
  if (depth > DEEPEST) return [{ type: 'source', text: tokens.map(({ raw }) => raw).join('') }];
  return tokens.flatMap((token) => blockOf(token, highlight, depth));
}

function blockOf(token: Token, highlight: Highlight | null, depth: number): MarkdownBlock[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return token.type === 'def' ? [{ type: 'source', text: token.raw }] : [];
    case 'hr':
      return [{ type: 'rule' }];
    case 'heading':
      return [{ type: 'heading', depth: Number(token.depth), children: inlineOf(token.tokens, depth) }];
    case 'code': {
      const { text, lang = '' } = token as Marked.Code;
      const language = lang.split(/\s/)[0] ?? '';
      return [{ type: 'code', language, lines: highlight?.(language, text) ?? [{ text, looks: [] }] }];
    }
    case 'blockquote':
      return [{ type: 'quote', children: blocksOf(token.tokens ?? [], highlight, depth + 1) }];
    case 'list':
      return [listOf(token as Marked.List, highlight, depth)];
    case 'table':
      return [tableOf(token as Marked.Table, depth)];
    case 'paragraph':
    case 'text':
      return [{ type: 'paragraph', children: inlineOf(token.tokens ?? [token], depth) }];
    default: // HTML, and whatever is to come
      return [{ type: 'source', text: token.raw }];
  }
}

function listOf({ ordered, start, items }: Marked.List, highlight: Highlight | null, depth: number): MarkdownBlock {
  return {
    type: 'list',
    ordered,
    start: typeof start === 'number' ? start : 1,
    items: items.map(({ task, checked, tokens }) => ({
      checked: task ? checked === true : null,
      children: blocksOf(
        tokens.filter(({ type }) => type !== 'checkbox'),
        highlight,
        depth + 1,
      ),
    })),
  };
}

function tableOf({ header, rows }: Marked.Table, depth: number): MarkdownBlock {
  const cells = (row: readonly Marked.TableCell[]) => row.map(({ tokens }) => inlineOf(tokens, depth));
  return { type: 'table', header: cells(header), rows: rows.map(cells) };
}

function inlineOf(tokens: readonly Token[] | undefined, depth: number): Inline[] {
  if (!tokens) return [];
  if (depth > DEEPEST) return [{ type: 'text', text: tokens.map(({ raw }) => raw).join('') }];
  return tokens.flatMap((token) => inlinePart(token, depth + 1));
}

function inlinePart(token: Token, depth: number): Inline[] {
  switch (token.type) {
    case 'strong':
      return [{ type: 'strong', children: inlineOf(token.tokens, depth) }];
    case 'em':
      return [{ type: 'emphasis', children: inlineOf(token.tokens, depth) }];
    case 'del':
      return [{ type: 'deleted', children: inlineOf(token.tokens, depth) }];
    case 'codespan':
      return [{ type: 'code', text: (token as Marked.Codespan).text }];
    case 'br':
      return [{ type: 'break' }];
    case 'checkbox':
      return [];
    case 'link':
      return linkOf(token as Marked.Link, depth);
    case 'image': {
      const { text, href } = token as Marked.Image;
      return [{ type: 'text', text: `[image: ${text}] (${href})` }];
    }
    case 'text':
      return token.tokens ? inlineOf(token.tokens, depth) : [{ type: 'text', text: (token as Marked.Text).text }];
    case 'escape':
      return [{ type: 'text', text: (token as Marked.Escape).text }];
    default: // HTML, and whatever is to come
      return [{ type: 'text', text: token.raw }];
  }
}

/** Where it leads nowhere that may be followed, its words and its address are text. */
function linkOf({ href, raw, tokens }: Marked.Link, depth: number): Inline[] {
  const link = webLink(href);
  return link ? [{ type: 'link', ...link, children: inlineOf(tokens, depth) }] : [{ type: 'text', text: raw }];
}
