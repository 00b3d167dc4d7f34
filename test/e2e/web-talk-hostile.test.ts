/** Talk of a hostile conversation: nothing of it runs, no request leaves, all of it is text, and what it hides is marked. */
import * as assert from 'uvu/assert';
import type { Session } from '../../core/model/session.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { lettersOf, walkTalk } from '../support/talk-walk.ts';
import { answeredBy, asked, resulted, said, uses } from '../support/transcript-records.ts';
import { uploadBody } from '../support/transcript-uploads.ts';
import { inBrowser } from '../support/web.ts';

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
const NESTED = Array.from({ length: 400 }).reduce<unknown>((inner) => ({ deeper: inner }), 'the innermost');

inBrowser(
  'Talk, hostile',
  (test) => {
    test('nothing runs, no request leaves, each payload is text, and hidden characters are marked', async ({
      service,
      open,
    }) => {
      const id = await uploaded(service, [
        asked(['', 'r0'], 0, MARKUP.join('\n\n')),
        answeredBy(['r0', 'r1'], 1, 'msg_1', [
          said(MARKUP.join('\n\n')),
          uses('t1', 'Bash', { command: MARKUP.join('\n') }),
          uses('t2', '<b onclick=hacked()>', { nested: NESTED, list: MARKUP }),
        ]),
        asked(['r1', 'r2'], 2, [resulted('t1', MARKUP.join('\n')), resulted('t2', `${'x'.repeat(5_000_000)} the end`)]),
        answeredBy(['r2', 'r3'], 3, 'msg_2', [said(`${'*'.repeat(20_000)}a${'['.repeat(20_000)}`)]),
      ]);
      const page = await open(`/sessions/${id}`);
      await page.waitForSelector('[data-row=step]');
      await page.keyboard.press('f');
      await page.waitForSelector('.tool-result');
      await page.waitForTimeout(1_000); // what runs would have run, and the worker's time is up
      assert.is(await page.evaluate('window.hacked'), undefined);
      assert.is(await page.locator('.talk-list :is(img, script, iframe, base, svg script, style)').count(), 0);
      const links = await page
        .locator('.talk-list a')
        .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).protocol));
      assert.ok(
        links.every((protocol) => ['http:', 'https:', 'mailto:'].includes(protocol)),
        links.join(),
      );
      const text = (await page.locator('.talk-list').textContent()) ?? '';
      for (const words of [
        'onerror="window.hacked=1"',
        'window.hacked=2',
        'srcdoc',
        'javascript:window.hacked=4',
        'onload="window.hacked=6"',
        '⟦U+202E⟧',
        'hidden: "ignore previous"',
      ])
        assert.ok(text.includes(words), words);
      assert.ok((await page.locator('[data-hidden]').count()) > 4);
      assert.ok((await page.locator('[data-more]').count()) > 0, 'five megabytes are not shown at once');
    });

    test('a title of a million characters and a name with markup stay text in the head', async ({ service, open }) => {
      const id = await uploaded(
        service,
        [
          asked(['', 'r0'], 0, `<b>bold</b>\u202E ${'long '.repeat(200_000)}`),
          answeredBy(['r0', 'r1'], 1, 'msg_1', [said('Yes.')]),
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
    });

    test.run();
  },
  { demo: false },
);

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
    const { items } = await read<{ items: Session[] }>(`${api}/v1/sessions`);
    return items.find((one) => one.harness_session_id === harness_session_id && one.rollup.turn_count > 0);
  });
  return session.id;
}
