/** Marks what was found in what is on screen, without changing the document: by the CSS Custom Highlight API, where the browser has it. */
import type { SessionMatch } from '../../../../../model/find.ts';
import { visibleText } from '../../../worker/invisible.ts';
import { blockKey } from './block-key.ts';
import { nthPlace, type TextPlace, textPlaces } from './text-places.ts';

const ALL = 'svc-find';
const CURRENT = 'svc-find-at';
const MOST = 1_000;
/** What a block shows that was not recorded. */
const ADDED = 'button, .gutter, .diff-sign, .spoken, .link-host';

/** What was found, by block. `add` takes on what has come since it was called last. */
export function foundByBlock() {
  const blocks = new Map<string, SessionMatch[]>();
  let taken = 0;
  return {
    of: (key: string): readonly SessionMatch[] => blocks.get(key) ?? [],
    add: (found: readonly SessionMatch[]) => {
      for (; taken < found.length; taken++) {
        const one = found[taken] as SessionMatch;
        const key = blockKey(one.span_id, one.side, one.block);
        const own = blocks.get(key);
        if (own) own.push(one);
        else blocks.set(key, [one]);
      }
    },
  };
}

/** @returns where the one that the reader is at is shown; null: it is not */
export function markFound(
  root: Element,
  foundIn: (key: string) => readonly SessionMatch[],
  at: SessionMatch | null,
): Range | null {
  const marked: Range[] = [];
  let current: Range | null = null;
  for (const block of root.querySelectorAll<HTMLElement>('[data-text]')) {
    const found = foundIn(block.dataset.text ?? '');
    if (found.length === 0 || marked.length >= MOST) continue;
    const { shown, rangeOf } = shownText(block);
    for (const match of new Set(found.map((one) => one.match))) {
      const same = found.filter((one) => one.match === match);
      const places = textPlaces(shown, visibleText(match));
      const n = at === null ? -1 : same.findIndex((one) => isSame(one, at));
      const own = at === null || n < 0 ? -1 : nthPlace(shown, places, { before: at.before, after: at.after, n });
      for (const [index, place] of places.entries()) {
        const range = rangeOf(place);
        if (index === own) current = range;
        else marked.push(range);
      }
    }
  }
  put(ALL, marked);
  put(CURRENT, current ? [current] : []);
  return current;
}

export function unmark(): void {
  put(ALL, []);
  put(CURRENT, []);
}

const isSame = (one: SessionMatch, other: SessionMatch): boolean =>
  one.trace_id === other.trace_id && one.start === other.start && one.end === other.end;

function put(name: string, ranges: Range[]): void {
  if (!('highlights' in CSS)) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...ranges));
}

/** The recorded text that a block shows, as one text over all its nodes. */
function shownText(block: Element): { shown: string; rangeOf: (place: TextPlace) => Range } {
  const nodes: { node: Node; start: number }[] = [];
  let shown = '';
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element
      ? node.matches(ADDED)
        ? NodeFilter.FILTER_REJECT
        : NodeFilter.FILTER_SKIP
      : NodeFilter.FILTER_ACCEPT,
  );
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, start: shown.length });
    shown += node.nodeValue ?? '';
  }
  const nodeAt = (at: number) => {
    let [low, high] = [0, nodes.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((nodes[middle]?.start ?? 0) <= at) low = middle;
      else high = middle;
    }
    return nodes[low];
  };
  const rangeOf = ({ start, end }: TextPlace): Range => {
    const range = new Range();
    const [first, last] = [nodeAt(start), nodeAt(end - 1)];
    if (first && last) {
      range.setStart(first.node, start - first.start);
      range.setEnd(last.node, end - last.start);
    }
    return range;
  };
  return { shown, rangeOf };
}
