/** The links of a span in words, both ways: what requested it, what it fed, what it repeats. */
import type { OtherSpan, OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

/** `span` is an index of the columns; `other` a span that is not among them. One of both is there. */
export type SpanLink = { words: string; span: number; other: OtherSpan | null };

/** By the kind of link: seen from where it begins, and from where it ends. */
const WORDS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  emits: ['asked for', 'asked by'],
  feeds: ['fed', 'fed by'],
  verdict: ['judged', 'judged by'],
  rejoin: ['came back to', 'sent out'],
  'compaction-seam': ['goes on as', 'goes on from the summary of'],
  'retry-of': ['tries again', 'tried again by'],
  'fork-of': ['goes on from', 'another way on'],
};

/** Those that lead back come first. */
export function spanLinks({ links, names, others }: OutlineColumns, index: OutlineIndex, span: number): SpanLink[] {
  const toward = (reference: number, words: string): SpanLink[] => {
    const other = reference < -1 ? (others[-2 - reference] ?? null) : null;
    return reference >= 0 || other ? [{ words, span: reference, other }] : [];
  };
  const wordsOf = (row: number, side: 0 | 1): string => {
    const kind = names[links.kind[row] ?? 0] ?? '';
    return (Object.hasOwn(WORDS, kind) ? WORDS[kind]?.[side] : undefined) ?? kind;
  };
  return [
    ...[...index.linksTo.of(span)].flatMap((row) => toward(links.from[row] ?? -1, wordsOf(row, 1))),
    ...[...index.linksFrom.of(span)].flatMap((row) => toward(links.to[row] ?? -1, wordsOf(row, 0))),
  ];
}

/** Where `,` leads: along the first link onward, else back; from there the same key comes back. */
export function followed(links: readonly SpanLink[], cameFrom: number): SpanLink | null {
  const here = links.filter(({ span }) => span >= 0);
  return here.find(({ span }) => span === cameFrom) ?? here.at(-1) ?? null;
}
