/** Whether Talk shows the sub-agents of a session as cards: each at the tool that sent it out, with the sums of its own calls, and a way there and back. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { Session } from '../../core/model/session.ts';
import type { Span } from '../../core/model/span.ts';
import type { SessionDocument } from '../../core/model/trace.ts';
import { read } from './serve.ts';
import type { WebStand } from './web.ts';

type Agent = { span: Span; tool: Span; own: readonly Span[] };

/** @returns how many cards were looked at */
export async function assertCards({ base, open }: Pick<WebStand, 'base' | 'open'>, session: Session): Promise<number> {
  const agents = agentsOf(await read(`${base}/v1/sessions/${session.id}/traces`));
  for (const agent of agents) {
    const page = await open(talkOf(session, agent.tool.thread_id));
    const card = await cardOf(page, agent);
    await assertSums(page, agent);
    await assertUnfolds(page, agent);
    await card.locator('.open-thread').click();
    await page.locator(`.talk-list [data-row=step][data-span="${agent.own.find(isCall)?.span_id}"]`).waitFor();
    assert.is(new URL(page.url()).searchParams.get('thread'), agent.span.thread_id);
    const crumbs = page.locator('.breadcrumb button'); // to each thread above; the last of them holds the card
    await crumbs.last().click();
    await page.waitForFunction(isFocused, agent.span.span_id);
    assert.is(new URL(page.url()).searchParams.get('thread') ?? '', agent.tool.thread_id);
    await page.close();
  }
  return agents.length;
}

/** Those whose `rejoin` says which tool sent them out. */
function agentsOf({ traces, links }: z.infer<typeof SessionDocument>): Agent[] {
  const spans = traces.flatMap((trace) => trace.spans);
  const spanOf = (id: string) => spans.find(({ span_id }) => span_id === id);
  return links
    .filter(({ kind }) => kind === 'rejoin')
    .map(({ from_span_id, to_span_id }) => {
      const [span, tool] = [spanOf(from_span_id), spanOf(to_span_id)];
      if (span?.kind !== 'agent' || tool?.kind !== 'tool') throw new Error('A rejoin is from an agent to a tool');
      return {
        span,
        tool,
        own: spans.filter(({ thread_id, kind }) => thread_id === span.thread_id && kind !== 'agent'),
      };
    });
}

const talkOf = ({ id }: Session, thread: string) =>
  `/sessions/${id}${thread === '' ? '' : `?thread=${encodeURIComponent(thread)}`}`;
const isCall = ({ kind }: Span) => kind === 'llm';
const selector = ({ span }: Agent) => `[data-row=agent][data-span="${span.span_id}"]`;

/** The card, scrolled to: right below its tool, or below another card of that tool. */
async function cardOf(page: Page, agent: Agent) {
  const card = page.locator(selector(agent));
  for (let screen = 0; screen < 200 && (await card.count()) === 0; screen++) {
    await page.evaluate('{ const l = document.querySelector(".talk-list"); l.scrollTop += l.clientHeight / 2; }');
    await page.waitForTimeout(60);
  }
  const place = Number(await card.getAttribute('data-index'));
  const rows = await page
    .locator('.talk-list [data-row]:not([data-row=agent])')
    .evaluateAll((all) => all.map((row) => [Number(row.dataset.index), row.dataset.span] as const));
  const [, above] = rows.filter(([index]) => index < place).sort(([one], [other]) => other - one)[0] ?? [];
  assert.is(above, agent.tool.span_id, `${agent.span.name}: the row above its card`);
  return card;
}

/** Counts and cost are those of the thread's own calls. */
async function assertSums(page: Page, agent: Agent): Promise<void> {
  const head = page.locator(`${selector(agent)} .agent-head`);
  const number = async (name: string) => Number(await head.locator(`[data-number=${name}]`).getAttribute('data-value'));
  const calls = agent.own.filter(isCall);
  assert.is(await number('calls'), calls.length, agent.span.name);
  const costs = calls.map(({ usage }) => usage.cost_usd);
  const cost = costs.reduce<number>((sum, usd) => sum + (usd ?? 0), 0);
  if (costs.some((usd) => usd !== null)) assert.ok(Math.abs((await number('cost_usd')) - cost) < 1e-9, agent.span.name);
  else assert.match((await head.locator('[data-number=cost_usd]').textContent()) ?? '', /^—/);
  const tokens = calls.reduce((sum, { usage }) => sum + usage.input_tokens + usage.output_tokens, 0);
  assert.is(await number('tokens'), tokens, agent.span.name);
}

/** In place: one level. */
async function assertUnfolds(page: Page, agent: Agent): Promise<void> {
  const name = page.locator(`${selector(agent)} .agent-name`);
  await name.click();
  await page.locator(`[data-depth="1"][data-row=step][data-span="${agent.own.find(isCall)?.span_id}"]`).waitFor();
  await name.click();
  await page.locator('[data-depth="1"]').first().waitFor({ state: 'detached' });
}

const isFocused = (span_id: string): boolean => {
  const row = document.activeElement?.closest<HTMLElement>('[data-row]');
  return row?.dataset.span === span_id;
};
