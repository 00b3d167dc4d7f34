/** The web UI's document in a real browser: its policy holds, a link from elsewhere opens it, and a page from elsewhere gets nothing else. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { inBrowser, openChromium } from '../support/web.ts';

const PATHS = ['/', '/sessions', '/spend', '/find', '/skills', '/cassettes', '/health', '/help'];
const ANYTHING = [/(?:)/];

inBrowser('the web UI as a browser gets it', (test) => {
  test('every page loads without an error, a report or a request elsewhere', async ({ open }) => {
    for (const path of PATHS) {
      const page = await open(path, { ready: false });
      await page.waitForSelector('h1');
    }
  });

  test('no string becomes HTML, code or style, and nothing is fetched from elsewhere', async ({ open }) => {
    const page = await open('/help', { ready: false, tolerated: ANYTHING });
    await page.waitForSelector('h1');
    const outcome = (code: string) =>
      page.evaluate(`(async () => { try { return String(await (${code})()) } catch (error) { return error.name } })()`);
    for (const code of [
      `() => { document.body.innerHTML = '<b>x</b>' }`,
      `() => { document.body.insertAdjacentHTML('beforeend', '<b>x</b>') }`,
      `() => { document.createElement('iframe').srcdoc = '<b>x</b>' }`,
      `() => { document.createElement('script').textContent = '1' }`,
      `() => { document.createElement('script').src = '/ui/x.js' }`,
      `() => { document.write('<b>x</b>') }`,
      `() => { new DOMParser().parseFromString('<b>x</b>', 'text/html') }`,
      `() => { new Worker('/ui/x.js') }`,
      `() => { document.createElement('object').data = '/help' }`,
      `() => { trustedTypes.createPolicy('other', { createHTML: (text) => text }) }`,
      `() => { trustedTypes.createPolicy('default', { createHTML: (text) => text }) }`,
    ])
      assert.is(await outcome(code), 'TypeError', code);
    const reported = (code: string) =>
      page.evaluate(`new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective), { once: true });
        setTimeout(() => done('nothing'), 20000);
        (${code})();
      })`);
    const add = (name: string, members: string) =>
      `() => document.body.append(Object.assign(document.createElement('${name}'), ${members}))`;
    for (const [code, directive] of [
      [`() => document.body.setAttribute('style', 'color: red')`, 'style-src-attr'],
      [add('style', `{ textContent: 'body { color: red }' }`), 'style-src-elem'],
      [add('img', `{ src: 'http://127.0.0.1:1/x.png' }`), 'img-src'],
      [add('img', `{ src: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }`), 'img-src'],
      [add('iframe', `{ src: '/help' }`), 'frame-src'],
      [add('link', `{ rel: 'stylesheet', href: 'http://127.0.0.1:1/x.css' }`), 'style-src-elem'],
      [add('video', `{ src: 'http://127.0.0.1:1/x.mp4' }`), 'media-src'],
      [`() => fetch('http://127.0.0.1:1/').catch(() => {})`, 'connect-src'],
      [`() => new WebSocket('ws://127.0.0.1:1/')`, 'connect-src'],
      [`() => navigator.sendBeacon('http://127.0.0.1:1/', 'x')`, 'connect-src'],
      [`() => new FontFace('x', 'url(/ui/x.woff)').load().catch(() => {})`, 'font-src'],
      [`() => setTimeout(() => eval('1'))`, 'require-trusted-types-for'],
      [`() => setTimeout(() => new Function('return 1'))`, 'require-trusted-types-for'],
      [add('base', `{ href: 'http://127.0.0.1:1/' }`), 'base-uri'],
    ] as const)
      assert.is(await reported(code), directive, code);
    assert.is(await page.evaluate(`getComputedStyle(document.body).color === 'rgb(255, 0, 0)'`), false);
  });

  test('a link on a page of another site, or of another port, opens a document in a tab of its own', async ({
    base,
  }) => {
    await elsewhere(base, async (page) => {
      for (const path of [...PATHS, '/sessions/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10?span=x', '/spans/a/b'])
        for (const how of ['link', 'opener'] as const) {
          const [opened] = await Promise.all([
            page.context().waitForEvent('page'),
            page.click(`a.${how}[href$="${path}"]`),
          ]);
          await opened.waitForSelector('#app', { state: 'attached' });
          assert.is(opened.url(), `${base}${path}`);
          assert.is(await opened.evaluate('window.opener === null'), true, `${how} ${path}`);
          await opened.close();
        }
    });
  });

  test('and gets nothing else: no hold on the tab, no frame, no data, no writing', async ({ base }) => {
    await elsewhere(base, async (page) => {
      const opened = page.context().waitForEvent('page');
      assert.is(await page.evaluate(`hold(${JSON.stringify(`${base}/help`)})`), 'severed');
      await (await opened).close();
      for (const path of ['/', '/sessions', '/v1/sessions', '/openapi', '/v1/events']) {
        const statuses: number[] = [];
        page.on('response', (response) => response.url() === `${base}${path}` && statuses.push(response.status()));
        for (const way of ['cors', 'no-cors', 'frame', 'object', 'post', 'form'])
          assert.match(
            String(await page.evaluate(`attempt('${way}', '${base}${path}')`)),
            /^(?:refused|nothing)$/,
            way,
          );
        assert.ok(statuses.length >= 2, `${path}: ${statuses}`);
        assert.ok(
          statuses.every((status) => status === 403 || status === 405), // 405: a document, to which nothing can be sent
          `${path}: ${statuses}`,
        );
        page.removeAllListeners('response');
      }
    });
  });

  test.run();
});

/** What a page can try. Runs in the browser. */
const SCRIPT = `
const within = (promise) => Promise.race([promise, new Promise((done) => setTimeout(() => done('nothing'), 3000))]);
const hold = async (url) => {
  const held = open(url);
  // it is severed once the document comes, which takes as long as the machine is slow
  for (let looks = 0; looks < 200 && !held.closed; looks++) await new Promise((done) => setTimeout(done, 100));
  try { return held.closed ? 'severed' : 'held ' + held.length } catch (error) { return error.name }
};
const element = (name, members, read) => new Promise((done) => {
  const made = Object.assign(document.createElement(name), members);
  made.onload = () => done(read(made));
  made.onerror = () => done('refused');
  document.body.append(made);
});
const seen = (frame) => { try { return frame.contentDocument?.body ? 'read' : 'refused' } catch { return 'refused' } };
const WAYS = {
  cors: (url) => fetch(url).then((response) => 'read ' + response.status, () => 'refused'),
  'no-cors': (url) => fetch(url, { mode: 'no-cors' }).then((response) => response.type === 'opaque' ? 'nothing' : 'read', () => 'refused'),
  frame: (src) => element('iframe', { src }, seen),
  object: (data) => element('object', { data }, seen),
  form: (action) => new Promise((done) => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'sent-' + crypto.randomUUID?.() });
    document.body.append(frame); // its first document is empty and loads at once
    const form = Object.assign(document.createElement('form'), { method: 'post', action, target: frame.name });
    document.body.append(form);
    frame.onload = () => done(seen(frame));
    form.submit();
  }),
  post: (url) => fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }).then(() => 'read', () => 'refused'),
};
const attempt = (way, url) => within(WAYS[way](url));
`;

/** Runs with a page of another site and then one of another port, each with links to the UI. Every name leads to this machine. */
async function elsewhere(base: string, run: (page: Page) => Promise<void>): Promise<void> {
  const links = [...PATHS, '/sessions/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10?span=x', '/spans/a/b']
    .flatMap((path) => [
      `<p><a class="link" target="_blank" href="${base}${path}">${path}</a>`,
      `<a class="opener" target="_blank" rel="opener" href="${base}${path}">${path}</a>`,
    ])
    .join('');
  const pages = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><title>elsewhere</title><script>${SCRIPT}</script><body>${links}</body>`);
  });
  await new Promise<void>((done) => pages.listen(0, '127.0.0.1', () => done()));
  const { port } = pages.address() as AddressInfo;
  const { browser, close } = await openChromium({}, ['--no-sandbox', '--host-resolver-rules=MAP * 127.0.0.1']);
  try {
    for (const host of ['elsewhere.example', '127.0.0.1']) {
      const page = await browser.newPage();
      await page.goto(`http://${host}:${port}/`);
      await run(page);
      await page.close();
    }
  } finally {
    await close();
    pages.closeAllConnections();
    pages.close();
  }
}
