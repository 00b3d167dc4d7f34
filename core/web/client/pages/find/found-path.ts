/** The address that shows a hit: its session, with the text looked for in it, at the place that was found. */
import type { FindHit } from '../../../../model/find.ts';
import { foundKey } from '../session/find/found.ts';

/** @param text that was looked for: where only some of its words were found, those are looked for there */
export function foundPath({ session_id, span_id, place, matches }: FindHit, text: string): string {
  const [first] = matches;
  const query = new URLSearchParams({ span: span_id });
  if (first) {
    query.set('q', first.match.toLowerCase() === text.toLowerCase() ? text : first.match);
    if (place === 'prompt') query.set('in', place);
    query.set('hit', foundKey({ span_id, ...first }));
  }
  return `/sessions/${session_id}?${query}`;
}

/** Hits by session, both in the order in which they came: the best first. */
export function bySession(hits: readonly FindHit[]): [session_id: string, hits: FindHit[]][] {
  const groups = new Map<string, FindHit[]>();
  for (const hit of hits) {
    const group = groups.get(hit.session_id);
    if (group) group.push(hit);
    else groups.set(hit.session_id, [hit]);
  }
  return [...groups];
}

/** A part of what is shown of a hit; `found`: it is what was looked for. */
export type SnippetPart = { text: string; found: boolean };

/** What is shown of a hit's matches: those that stand near each other in one piece. */
export function snippet(matches: FindHit['matches']): SnippetPart[] {
  const parts: SnippetPart[] = [];
  let last: FindHit['matches'][number] | null = null;
  const isOneText = matches.every(({ side, block }) => side === matches[0]?.side && block === matches[0]?.block);
  for (const match of isOneText ? matches.toSorted((a, b) => a.start - b.start) : matches) {
    const gap = last && last.side === match.side && last.block === match.block ? match.start - last.end : -1;
    if (last && gap >= 0 && gap <= last.after.length) {
      parts.pop();
      parts.push({ text: last.after.slice(0, gap), found: false });
    } else parts.push({ text: `${last ? ' … ' : ''}${match.before}`, found: false });
    parts.push({ text: match.match, found: true }, { text: match.after, found: false });
    last = match;
  }
  return parts.map(({ text, found }) => ({ text: text.replace(/\s+/g, ' '), found }));
}
