/** Every page of the web UI, and each in the states that look different: what is checked for all of them, and what screenshots show. */
import type { Page } from 'playwright-core';
import type { Outline } from '../../core/model/outline.ts';
import type { SessionPage } from '../../core/model/session.ts';
import { read } from './serve.ts';

export type ShownPage = {
  name: string;
  path: string;
  /** Brings the opened page into the state that is meant. */
  prepare?: (page: Page) => Promise<void>;
};

const dialog = (page: Page) => page.locator('dialog[open]').waitFor();
const pressed =
  (...keys: string[]) =>
  async (page: Page) => {
    await page.locator('.session-title').first().focus();
    for (const key of keys) await page.keyboard.press(key);
    await dialog(page);
  };

/** @param base of a service that has the demo's sessions */
export async function shownPages(base: string): Promise<ShownPage[]> {
  const { id, thread, failed, call } = await places(base);
  const skill = await storedSkill(base);
  const session = `/sessions/${id}`;
  const rows = async (page: Page) => void (await page.locator('.talk-list [data-row=step]').first().waitFor());
  const side = async (page: Page) => void (await page.locator('.side[data-state=ready]').first().waitFor());
  const block = async (page: Page) => void (await page.locator('[data-block], [data-group]').first().waitFor());
  return [
    { name: 'sessions', path: '/' },
    {
      name: 'sessions-picker',
      path: '/',
      prepare: async (page) => {
        await page.keyboard.press('j');
        await page.keyboard.press('x');
        await page.getByRole('button', { name: /^Model/ }).click();
        await page.locator('[data-facet]').first().waitFor();
      },
    },
    { name: 'sessions-none', path: '/?project=nothing-has-it' },
    { name: 'sessions-rename', path: '/', prepare: pressed('r') },
    { name: 'sessions-delete', path: '/', prepare: pressed('Delete') },
    { name: 'keys', path: '/', prepare: pressed('?') },
    { name: 'talk', path: session, prepare: rows },
    {
      name: 'talk-unfolded',
      path: session,
      prepare: async (page) => {
        await rows(page);
        await page.keyboard.press('f');
        await page.locator('.tool-result').first().waitFor();
      },
    },
    { name: 'talk-span', path: `${session}?span=${failed}`, prepare: rows },
    { name: 'talk-thread', path: `${session}?thread=${thread}`, prepare: rows },
    {
      name: 'talk-find',
      path: `${session}?q=the`,
      prepare: async (page) => {
        await page.waitForSelector('.find-bar[data-complete]');
        await page.keyboard.press('n');
        await page.waitForFunction(() => CSS.highlights.has('svc-find-at'));
      },
    },
    { name: 'time', path: `${session}/time`, prepare: async (page) => void (await page.waitForSelector('[data-row]')) },
    {
      name: 'time-span',
      path: `${session}/time?span=${failed}`,
      prepare: async (page) => void (await page.waitForSelector('[data-blocks=result]')),
    },
    {
      name: 'calls',
      path: `${session}/calls`,
      prepare: async (page) => void (await page.waitForSelector('.call-row')),
    },
    {
      name: 'cache',
      path: `${session}/cache`,
      prepare: async (page) => void (await page.waitForSelector('.cache-lens')),
    },
    { name: 'context', path: `${session}/calls/${call}`, prepare: block },
    { name: 'bytes', path: `${session}/calls/${call}/bytes`, prepare: side },
    { name: 'bytes-text', path: `${session}/calls/${call}/bytes?view=text`, prepare: side },
    { name: 'bytes-events', path: `${session}/calls/${call}/bytes?side=response&view=events`, prepare: side },
    { name: 'spend', path: '/spend' },
    { name: 'find', path: '/find' },
    { name: 'find-words', path: '/find?q=timetable' },
    { name: 'find-narrowed', path: '/find?q=test&in=tools&tool=Bash&status=error&since=today' },
    { name: 'skills', path: '/skills' },
    { name: 'skill', path: `/skills/${skill}` },
    { name: 'cassettes', path: '/cassettes' },
    { name: 'health', path: '/health' },
    { name: 'help', path: '/help' },
  ];
}

/** Of the demo's longest run: its id, a thread of a sub-agent, a tool that failed and a call. */
async function places(base: string) {
  const { items } = await read<SessionPage>(`${base}/v1/sessions?limit=50`);
  const [longest] = items.toSorted((a, b) => b.raw_turn_count - a.raw_turn_count);
  const id = longest?.id ?? '';
  const { names, spans } = await read<Outline>(`${base}/v1/sessions/${id}/outline`);
  const nameOf = (column: readonly number[]) => column.map((index) => names[index] ?? '');
  const [kinds, statuses] = [nameOf(spans.kind), nameOf(spans.status)];
  const failed = spans.span_id.find((_, n) => kinds[n] === 'tool' && statuses[n] === 'error') ?? '';
  const thread = nameOf(spans.thread).find((name) => name !== '') ?? '';
  type Turns = { items: { raw_turn_id: number }[] };
  const [call] = (await read<Turns>(`${base}/v1/sessions/${id}/raw_turns?limit=1`)).items;
  if (failed === '' || thread === '' || !call) throw new Error('Cannot show all pages: the demo lacks what they show');
  return { id, thread: encodeURIComponent(thread), failed, call: call.raw_turn_id };
}

async function storedSkill(base: string): Promise<string> {
  const write = async (path: string, body: object): Promise<{ id: string }> => {
    const response = await fetch(`${base}/v1/cassettes/skills${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`Cannot store a skill: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const content = '# At the harbour\n\n1. Compare dates in its time zone\n\n```ts\nconst zone = "Europe/Oslo";\n```\n';
  const { id } = await write('', { name: 'Dates', description: 'When tests fail at night', tags: ['time'], content });
  await write(`/${id}/versions`, { changelog: 'First of all' });
  await write(`/${id}/versions`, { changelog: 'One more', content: `${content}2. Look twice\n` });
  return id;
}
