/** A walk through Talk in a browser: unfolds everything from the first row to the last, and gathers what each row shows. */
import type { Page, Request } from 'playwright-core';

export type WalkedRow = {
  kind: string;
  span: string;
  trace: string;
  text: string;
  /** What was recorded, without heads, buttons and labels: by the span whose text it is. */
  bodies: { span: string; text: string }[];
};

/** Rows by what they are known by; a row that is seen twice has the text that it had last. */
export async function walkTalk(page: Page): Promise<Map<string, WalkedRow>> {
  const rows = new Map<string, WalkedRow>();
  const reads = readsOf(page);
  await page.evaluate('document.querySelector(".talk-list").scrollTop = 0');
  for (let step = 0; step < 2_000; step++) {
    await unfolded(page, reads);
    const now = await page.evaluate(rowsInDocument);
    const twice = now.find(([key], n) => now.findIndex(([other]) => other === key) !== n);
    if (twice) throw new Error(`There are two rows ${twice[0]}`);
    for (const [key, row] of now) rows.set(key, row);
    if (await page.evaluate(FURTHER)) continue;
    await unfolded(page, reads);
    if (await page.evaluate(FURTHER)) continue;
    reads.close();
    return rows;
  }
  throw new Error('Cannot walk to the end: it was never reached');
}

/** Opens what is folded among the rows in the document, and waits for their whole texts. */
async function unfolded(page: Page, reads: Reads): Promise<void> {
  for (let round = 0; round < 40; round++) {
    await page.waitForFunction(isRead, undefined, { timeout: 30_000 });
    await reads.ended();
    if (!(await page.evaluate(OPEN_FOLDS))) return;
  }
  throw new Error('Cannot unfold the rows: there is always one more');
}

type Reads = { ended(): Promise<void>; close(): void };

/** What a page reads from the API: a text that is cut stays on screen until the whole has come. */
function readsOf(page: Page): Reads {
  const running = new Set<Request>();
  const begin = (request: Request) => {
    if (/\/v1\/(?!events)/.test(request.url())) running.add(request);
  };
  const end = (request: Request) => void running.delete(request);
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
  return {
    ended: async () => {
      for (let calm = 0; calm < 2; calm = running.size === 0 ? calm + 1 : 0) await page.waitForTimeout(30);
    },
    close: () => page.off('request', begin).off('requestfinished', end).off('requestfailed', end),
  };
}

const FRAMES = 'await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));';

/** A function, since the policy of the page lets no text become a script. */
const isRead = () => {
  const list = document.querySelector('.talk-list');
  if (!list || list.querySelector('.waiting-words')) return false;
  return ![...list.querySelectorAll('.muted')].some((one) => /on its way|being decoded/i.test(one.textContent ?? ''));
};

const OPEN_FOLDS = `(async () => {
  const folds = [...document.querySelectorAll('.talk-list [aria-expanded=false], .talk-list [data-more]')];
  for (const fold of folds) fold.click();
  ${FRAMES}
  return folds.length > 0;
})()`;

/** Runs in the page. */
function rowsInDocument(): [string, WalkedRow][] {
  const BODIES = '.talk-words, .tool-body, .context-text, .summary, .tries li';
  const LABELS = 'button, .link-host, .spoken, .gutter, .input-key, .muted';
  return [...document.querySelectorAll<HTMLElement>('.talk-list [data-row]')].map((row) => {
    const { row: kind = '', span, of, trace = '' } = row.dataset;
    const id = span ?? of ?? '';
    const bodies = [...row.querySelectorAll<HTMLElement>(BODIES)].map((body) => {
      const recorded = body.cloneNode(true) as HTMLElement;
      for (const label of recorded.querySelectorAll(LABELS)) label.remove();
      return { span: body.dataset.span ?? id, text: recorded.textContent ?? '' };
    });
    return [`${kind} ${trace} ${id}`, { kind, span: id, trace, text: row.textContent ?? '', bodies }];
  });
}

/** Scrolls on by half a screen; false: it was at the end. */
const FURTHER = `(async () => {
  const list = document.querySelector('.talk-list');
  const before = list.scrollTop;
  list.scrollTop += list.clientHeight / 2;
  ${FRAMES}
  return list.scrollTop > before + 1;
})()`;

/**
 * A text as letters and digits alone, so that the same words are found whatever a format made of what stands between them. What hides in
 * a text is left out on both sides: pages write it out, in signs of their own.
 */
export const lettersOf = (text: string): string =>
  text
    .replace(/⟦[^⟧]*⟧/g, '')
    .replace(/[\u{E0000}-\u{E01EF}]/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, '');
