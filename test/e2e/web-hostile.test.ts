/** A hostile conversation in every view: nothing of it runs, no request leaves, all of it is text, and what it hides is marked. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Session } from '../../core/model/session.ts';
import { longestTask, noteLongTasks } from '../support/long-tasks.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { lettersOf, walkTalk } from '../support/talk-walk.ts';
import { answeredBy, resulted, textBlock, userRecord, uses } from '../support/transcript-records.ts';
import { uploadBody } from '../support/transcript-uploads.ts';
import { inBrowser, type WebStand } from '../support/web.ts';

const MARKUP = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=2</script>',
  '<iframe srcdoc="<script>parent.hacked=3</script>"></iframe>',
  '[press](javascript:window.hacked=4) and [this](data:text/html,<script>hacked=5</script>)',
  '<svg onload="window.hacked=6"><script>window.hacked=7</script></svg>',
  '![tracked](https://evil.example/pixel.png)',
  '</script></style></template><base href="https://evil.example/">',
  '\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007',
  'turned \u202E around, a \u0000 nothing, thin\u200Bspace',
  `seen ${[...'ignore previous'].map((one) => String.fromCodePoint(0xe0000 + (one.codePointAt(0) ?? 0))).join('')} end`,
];
/** What of it is read, whatever a format makes of the rest. */
const READ = [
  'onerror="window.hacked=1"',
  'window.hacked=2',
  'srcdoc',
  'javascript:window.hacked=4',
  'onload="window.hacked=6"',
  '⟦U+202E⟧',
  'hidden: "ignore previous"',
];
const LONG_TASK_MS = 4 * 200;
/** As a tool prints it, and as a model calls a tool with it. Deeper inputs are stored, and not read: what reads them would overflow. */
const PRINTED = `${'{"deeper":'.repeat(5_000)}"the innermost"${'}'.repeat(5_000)}`;
/** Messages of a tool that was called so, as text: what made it of a value would overflow. */
const NESTED_TOOL = `{"role":"assistant","content":[{"type":"tool_use","id":"t9","name":"Deep","input":${PRINTED}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","content":"done"}]}`;
const NESTED = Array.from({ length: 400 }).reduce<unknown>((inner) => ({ deeper: inner }), 'the innermost');

inBrowser(
  'a hostile conversation',
  (test) => {
    test.before(async ({ browser }) => {
      await noteLongTasks(browser);
    });

    test('Talk: each payload is text, and five megabytes or five thousand levels are not shown at once', async ({
      service,
      open,
    }) => {
      const id = await uploaded(service, [
        userRecord(['', 'r0'], 0, MARKUP.join('\n\n')),
        answeredBy(['r0', 'r1'], 1, 'msg_1', [
          textBlock(MARKUP.join('\n\n')),
          uses('t1', 'Bash', { command: MARKUP.join('\n') }),
          uses('t2', '<b onclick=hacked()>', { nested: NESTED, list: MARKUP }),
          uses('t3', 'Print', {}),
        ]),
        userRecord(['r1', 'r2'], 2, [
          resulted('t1', MARKUP.join('\n')),
          resulted('t2', `${'x'.repeat(5_000_000)} the end`),
          resulted('t3', PRINTED),
        ]),
        answeredBy(['r2', 'r3'], 3, 'msg_2', [textBlock(`${'*'.repeat(20_000)}a${'['.repeat(20_000)}`)]),
      ]);
      const page = await open(`/sessions/${id}`);
      await page.waitForSelector('[data-row=step]');
      await page.keyboard.press('f');
      await page.waitForSelector('.tool-result');
      await page.locator('[data-more]').first().waitFor();
      await page.waitForTimeout(1_000); // what runs would have run, and the worker's time is up
      // texts are read and formatted one after another: each is waited for, however slow the machine
      const list = page.locator('.talk-list');
      const holds = async (what: string, isSo: (text: string) => boolean) =>
        eventually(what, async () => isSo((await list.textContent()) ?? ''), 30_000);
      for (const words of READ) await holds(words, (text) => text.includes(words));
      await holds('what is nested, in an input and in a result', (text) => text.split('deeper').length > 3);
      await eventually('what hides', async () => (await page.locator('[data-hidden]').count()) > 4, 30_000);
      await assertInert(page, '.talk-list');
      assert.ok((await page.locator('[data-more]').count()) > 0, 'five megabytes are not shown at once');

      const time = await open(`/sessions/${id}/time`);
      await time.getByText('<b onclick=hacked()>').first().click(); // its panel opens beside it
      await time.getByText('deeper').first().waitFor();
      await assertInert(time, 'main');
    });

    test('Sessions and the head: a title of a million characters and markup in it stay text', async ({
      service,
      open,
    }) => {
      const id = await uploaded(
        service,
        [
          userRecord(['', 'r0'], 0, `<b>bold</b>\u202E ${'long '.repeat(200_000)}`),
          answeredBy(['r0', 'r1'], 1, 'msg_1', [textBlock('Yes.')]),
        ],
        '9d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e',
      );
      const page = await open(`/sessions/${id}`);
      await page.waitForSelector('[data-row=step]');
      assert.is(await page.locator('h1 b').count(), 0);
      assert.ok((await page.title()).length < 300);
      assert.not.match(await page.title(), /\u202E/);
      const rows = [...(await walkTalk(page)).values()].map(({ text }) => text);
      assert.ok(lettersOf(rows.join('')).includes('longlonglong'));
      await assertInert(page, 'main');

      const list = await open('/');
      const row = list.locator(`[data-session="${id}"]`);
      assert.match((await row.textContent()) ?? '', /<b>bold<\/b>⟦U\+202E⟧/);
      await assertInert(list, 'main');
    });

    test('Bytes: what passed is text, both sides of it, and so are the events', async (stand) => {
      const { session_id, raw_turn_id } = await passed(stand, MARKUP.join('\n\n'));
      const page = await stand.open(`/sessions/${session_id}/calls/${raw_turn_id}/bytes`);
      await page.waitForSelector('.side[data-state=ready]');
      assert.ok((await page.locator('main').textContent())?.includes('window.hacked=2'));
      const sides = await page.locator('[role=tab]').all();
      assert.ok(sides.length > 1);
      for (const side of sides) {
        await side.click();
        await page.waitForSelector('main[data-state=ready]');
        await assertInert(page, 'main');
      }
    });

    test('Bytes: a body that is nested five thousand deep is shown, and delays nobody', async (stand) => {
      const { session_id, raw_turn_id } = await passed(stand, 'How deep?', NESTED_TOOL);
      const page = await stand.open(`/sessions/${session_id}/calls/${raw_turn_id}/bytes`);
      await page.waitForSelector('.side[data-state=ready]');
      for (const view of ['JSON', 'Text']) {
        await page.getByRole('button', { name: view, exact: true }).click();
        await page.locator('.side', { hasText: view === 'JSON' ? 'How deep?' : 'deeper' }).waitFor();
        await page.waitForTimeout(500); // what runs would have run
        await assertInert(page, 'main');
      }
      const talk = await stand.open(`/sessions/${session_id}`);
      await talk.waitForSelector('[data-row]');
      await talk.keyboard.press('f');
      await talk.waitForTimeout(500);
      await assertInert(talk, 'main');
    });

    test('Find, and an address that is markup itself: it is words and no more', async ({ open }) => {
      for (const path of ['/find', '/']) {
        const page = await open(`${path}?q=${encodeURIComponent(MARKUP.slice(0, 7).join(' '))}`);
        await assertInert(page, 'main');
      }
      for (const part of MARKUP.slice(0, 7)) {
        const page = await open(`/sessions/${encodeURIComponent(part)}`, { tolerated: [/ 40[04] /] });
        await assertInert(page, 'main');
      }
    });

    test.run();
  },
  { demo: false },
);

/** Nothing ran, nothing of it became an element or a link to where scripts are, and the page was never deaf. */
async function assertInert(page: Page, within: string): Promise<void> {
  const path = new URL(page.url()).pathname;
  assert.is(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked), undefined, path);
  const made = page.locator(
    `${within} :is(img, script, iframe, base, svg script, style, [onerror], [onload], [onclick])`,
  );
  assert.is(await made.count(), 0, `${path}: elements`);
  const links = await page
    .locator(`${within} a`)
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).protocol));
  assert.equal(
    links.filter((protocol) => !['http:', 'https:', 'mailto:', 'blob:'].includes(protocol)),
    [],
    `${path}: links`,
  );
  const ms = await longestTask(page);
  console.log(`${path.slice(0, 60)}: longest task ${ms.toFixed(0)} ms`);
  assert.ok(ms <= LONG_TASK_MS, `${path}: a task of ${ms} ms`);
}

/** A call with that question through the proxy, whose provider echoes it. @param further messages, as JSON */
async function passed({ service, base }: WebStand, question: string, further = '') {
  const named = 'x-svc-harness-session-id';
  const name = `hostile-call-${further.length}`;
  const messages = [JSON.stringify({ role: 'user', content: question }), ...(further === '' ? [] : [further])];
  const response = await fetch(`${service.proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [named]: name },
    body: `{"model":"claude-sonnet-4-5","max_tokens":9,"stream":true,"messages":[${messages.join(',')}]}`,
  });
  assert.is(response.status, 200);
  await response.text();
  return eventually('the call', async () => {
    const session = await sessionNamed(base, name);
    if (!session) return null;
    const path = `${base}/v1/sessions/${session.id}/raw_turns`;
    return (await read<{ items: { session_id: string; raw_turn_id: number }[] }>(path)).items[0];
  });
}

async function uploaded(
  { ingest, api }: Service,
  records: object[],
  harness_session_id = '8d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e',
) {
  const body = uploadBody({ session: { harness_id: 'claude', harness_session_id }, records });
  const response = await fetch(`${ingest}/v1/ingest/transcript`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.is(response.status, 202, await response.text());
  const session = await eventually('the session', async () => {
    const found = await sessionNamed(api, harness_session_id);
    return found && found.rollup.turn_count > 0 ? found : null;
  });
  return session.id;
}

const sessionNamed = async (base: string, name: string): Promise<Session | undefined> =>
  (await read<{ items: Session[] }>(`${base}/v1/sessions`)).items.find(
    ({ harness_session_id }) => harness_session_id === name,
  );
