/** The web UI behind a reverse proxy, under a prefix that the proxy passes on or takes off: nothing of it is asked for outside the prefix. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { inBrowser, openChromium, watch } from '../support/web.ts';

const PREFIX = '/tools/svc';

inBrowser(
  'the web UI under a prefix',
  (test) => {
    for (const passesOn of [true, false])
      test(`that a reverse proxy ${passesOn ? 'passes on' : 'takes off'}`, async ({ base }) => {
        const proxy = await reverseProxy(base, passesOn);
        const { browser, close } = await openChromium();
        try {
          const page = await browser.newPage();
          const complaints: string[] = [];
          const paths: string[] = [];
          watch(page, proxy.address, (complaint) => complaints.push(complaint));
          page.on('request', (each) => paths.push(new URL(each.url()).pathname));
          for (const path of ['', '/', '/sessions', '/help']) {
            await page.goto(`${proxy.address}${PREFIX}${path}`);
            await page.waitForSelector('h1');
          }
          const { items } = (await page.evaluate(
            `fetch(document.documentElement.dataset.base + '/v1/sessions').then((response) => response.json())`,
          )) as { items: unknown[] };
          assert.ok(items.length > 0);
          assert.ok(paths.length > 8, paths.join());
          assert.equal(
            paths.filter((path) => path !== PREFIX && !path.startsWith(`${PREFIX}/`)),
            [],
          );
          assert.equal(complaints, []);
        } finally {
          await close();
          proxy.close();
        }
      });

    test('and the service itself names it to whoever opens it', ({ service }) => {
      assert.match(service.banner, new RegExp(`web UI +http://localhost:\\d+${PREFIX}/\n`));
    });

    test.run();
  },
  { env: { SVC_API_BASE_PATH: PREFIX } },
);

/** Forwards what lies below the prefix; everything else is 404. */
async function reverseProxy(target: string, passesOn: boolean): Promise<{ address: string; close(): void }> {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '';
    if (!path.startsWith(PREFIX)) return outgoing.writeHead(404).end();
    const below = passesOn ? path : path.slice(PREFIX.length).replace(/^(?!\/)/, '/');
    const { method, headers } = incoming;
    const forwarded = request(new URL(below, target), { method: method ?? 'GET', headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    return incoming.pipe(forwarded);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
