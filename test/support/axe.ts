/** What axe finds on a page, and targets that are too small to hit, which it does not look for. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules that are broken, and where. The page's policy allows no script element, so axe comes by the debugger.
 *  Of what is no violation it describes no elements, which would take it longer than to find them. */
export async function violations(page: Page): Promise<string[]> {
  if (await page.evaluate('!globalThis.axe')) await page.evaluate(axe.source);
  return (await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`)) as string[];
}

/** Links within a sentence may be as high as its line; who presses a label presses its field. */
export const smallTargets = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('a, button, input, select, textarea, summary, [role=tab]')]
    .filter((element) => element.checkVisibility() && !element.matches('p a, .skip'))
    .map((element) => [(element.closest('label') ?? element).getBoundingClientRect(), element.outerHTML.slice(0, 80)])
    .filter(([{ width, height }]) => width < 24 || height < 24)
    .map(([, html]) => html)`);

export const fitsSideways = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= innerWidth');
