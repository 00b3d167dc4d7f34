/** Does `svc open` open what is there, and is the token on terminals alone? */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openUi } from '../../../core/cli/open.ts';
import { uiAddress } from '../../../core/cli/ui-address.ts';
import { loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { builtAssets, openAssets } from '../../../core/web/assets.ts';
import { webApp } from '../../../core/web/web-app.ts';
import { testApi } from '../../support/read-api.ts';
import { bundled } from '../../support/web.ts';

const test = suite('svc open');
const TOKEN = 'open+sesame/1';
let cwd = '';

test.before(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'svc-open-'));
  await bundled();
});
test.after(() => rmSync(cwd, { recursive: true, force: true }));

type Way = { isTerminal: boolean; print?: boolean; token?: string; ui?: boolean; opens?: boolean; folder?: string };

/** What it prints and which addresses it opens, with a read API that runs. */
async function opened({ isTerminal, print = false, token = '', ui = true, opens = true, folder = builtAssets() }: Way) {
  const pages = webApp({ assets: openAssets(folder), basePath: '', version: '0', wantsToken: token !== '' });
  const app = testApi({ token, ...(ui && { pages }) });
  const { addresses, port, close } = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
  const flags = { 'client.api_target': addresses[0] ?? '', 'api.token': token };
  const out: string[] = [];
  const shown: string[] = [];
  const io = { out: (text: string) => out.push(text), env: {}, isTerminal };
  try {
    await openUi(loadConfig({ flags, env: {}, cwd, home: cwd }), { print }, io, async (address) => {
      shown.push(address);
      return opens;
    });
    return {
      printed: out.join('').replaceAll(String(port), 'PORT'),
      shown: shown.map((a) => a.replace(String(port), 'PORT')),
    };
  } finally {
    await close(0);
  }
}

const PLAIN = 'http://127.0.0.1:PORT/';
const SECRET = `${PLAIN}#token=open%2Bsesame%2F1`;

test('on a terminal it opens the address, with the token where there is one', async () => {
  assert.equal(await opened({ isTerminal: true }), { printed: `Opened in your browser: ${PLAIN}\n`, shown: [PLAIN] });
  assert.equal((await opened({ isTerminal: true, token: TOKEN })).shown, [SECRET]);
});

test('without a browser, or when asked to, it prints the address', async () => {
  assert.is((await opened({ isTerminal: true, opens: false })).printed, `${PLAIN}\n`);
  assert.equal(await opened({ isTerminal: true, print: true, token: TOKEN }), { printed: `${SECRET}\n`, shown: [] });
});

test('where no person reads it, it opens nothing and prints no token', async () => {
  for (const print of [true, false])
    assert.equal(await opened({ isTerminal: false, print, token: TOKEN }), { printed: `${PLAIN}\n`, shown: [] });
});

test('what is not there is said, and nothing is opened', async () => {
  const reason = async (opening: Promise<unknown>) => {
    try {
      await opening;
      return 'it opened';
    } catch (error) {
      assert.ok(error instanceof OperatorError, String(error));
      return error.message;
    }
  };
  const why = (way: Partial<Way>) => reason(opened({ isTerminal: true, ...way }));
  assert.match(await why({ ui: false }), /has api\.web_ui switched off$/);
  assert.match(await why({ folder: join(cwd, 'nothing') }), "run 'npm run build' there");
  const loaded = loadConfig({ flags: { 'api.listen': '127.0.0.1:1' }, env: {}, cwd, home: cwd });
  const nobody = openUi(loaded, { print: false }, { out: () => {}, env: {} }, async () => false);
  assert.match(await reason(nobody), 'no read API answers at http://127.0.0.1:1');
});

test('the address has the prefix of a reverse proxy once', () => {
  const api = { web_ui: true, base_path: '/svc', token: '' };
  assert.is(uiAddress('http://localhost:8081', api, true), 'http://localhost:8081/svc/');
  assert.is(uiAddress('https://tools.example/svc/', api, true), 'https://tools.example/svc/');
  assert.is(uiAddress('http://localhost:8081', { ...api, web_ui: false }, true), null);
});

test.run();
