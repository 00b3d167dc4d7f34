/** B15: how soon is the context of a call of 500 KB on screen, with what changed since the call before and the words in which one block did? */
import { cachedCall, startCachingProvider } from '../support/cached-calls.ts';
import { eventually, read } from '../support/serve.ts';
import { bounded, heading, median } from './figures.ts';
import { prose } from './prose.ts';
import { blankPage } from './web-page.ts';
import type { Ground } from './web-stand.ts';

const SESSION = '5e551011-0000-4000-8000-000000000015';
const TURNS = 7;
const BLOCKS = 400;
const READY = 'svc:context-ready';

export async function benchContext(ground: Ground): Promise<void> {
  const provider = await startCachingProvider();
  try {
    const env = { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url };
    const { base, proxy } = await ground.start('context', async () => {}, env);
    const size = await sendCalls(proxy);
    const { session, last } = await lastCall(base);
    heading(`The context of a call of ${Math.round(size / 1_000)} KB, with the difference to its neighbour`);
    const { context, page } = await blankPage(await ground.browser());
    await page.goto(`${base}/sessions/${session}/calls/${last}`);
    await page.waitForSelector('[data-op=added] mark');
    const took: number[] = [];
    for (let n = 0; n < 2 * TURNS; n++) {
      const key = n % 2 === 0 ? '[' : ']';
      await page.waitForSelector(`button[aria-keyshortcuts="${key}"]:not([disabled])`);
      took.push(await page.evaluate(pressed, { key, mark: READY }));
    }
    bounded(`B15 from the click, median of ${took.length}`, median(took), 400);
    await context.close();
  } finally {
    await provider.close();
  }
}

/** Runs in the page. @returns milliseconds from the click to the mark */
async function pressed({ key, mark }: { key: string; mark: string }): Promise<number> {
  const began = performance.now();
  document.querySelector<HTMLElement>(`button[aria-keyshortcuts="${key}"]`)?.click();
  for (;;) {
    const [found] = performance.getEntriesByName(mark).filter(({ startTime }) => startTime > began);
    if (found) return found.startTime - began;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Three calls, each with one more prompt and another date in a tool. @returns the bytes of the last */
async function sendCalls(proxy: string): Promise<number> {
  const text = (n: number) => [{ type: 'text', text: prose(1_100, n) }];
  const messages = Array.from({ length: BLOCKS }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: text(n),
  }));
  let size = 0;
  for (let n = 0; n < 3; n++) {
    messages.push({ role: 'user', content: text(BLOCKS + 2 * n) });
    const request = {
      ...{ model: 'claude-sonnet-4-5', max_tokens: 100, system: prose(20_000, 1_000) },
      tools: Array.from({ length: 30 }, (_, i) => ({
        ...{
          name: `Tool${i}`,
          description: `${prose(800, 2_000 + i)}\nThe day is ${i === 14 ? n : 0}\n${prose(400, 3_000 + i)}`,
        },
        input_schema: { type: 'object' },
      })),
      messages,
    };
    size = JSON.stringify(request).length;
    const answer = await cachedCall(proxy, SESSION, request, { read: 0, written: 120_000, fresh: 100 });
    messages.push({ role: 'assistant', content: [{ type: 'text', text: answer }] });
  }
  return size;
}

async function lastCall(base: string): Promise<{ session: string; last: number }> {
  return eventually('the calls', async () => {
    const { items } = await read<{ items: { id: string }[] }>(`${base}/v1/sessions`);
    const session = items[0]?.id;
    if (!session) return null;
    const outline = await read<{ spans: { raw_turn_id: (number | null)[] } }>(`${base}/v1/sessions/${session}/outline`);
    const turns = new Set(outline.spans.raw_turn_id.filter((turn) => turn !== null));
    return turns.size === 3 ? { session, last: Math.max(...turns) } : null;
  });
}
