/** Marks found words in what is on screen, without changing the document: by the CSS Custom Highlight API, where the browser has it. */
const NAME = 'svc-find';
const MOST = 1_000;

export function highlight(root: Element | null, sought: string): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete(NAME);
  if (root === null || sought === '') return;
  const needle = sought.toLowerCase();
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < MOST; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase();
    for (
      let at = text.indexOf(needle);
      at >= 0 && ranges.length < MOST;
      at = text.indexOf(needle, at + needle.length)
    ) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + needle.length, node.nodeValue?.length ?? 0));
      ranges.push(range);
    }
  }
  CSS.highlights.set(NAME, new Highlight(...ranges));
}
