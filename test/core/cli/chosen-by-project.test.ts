/** To which machines the file of a folder may send a token. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenFor, whyNoToken } from '../../../core/cli/chosen-by-project.ts';
import { loadConfig } from '../../../core/config/load.ts';

const test = suite('what a folder may choose');
let home = '';
let cwd = '';
test.before.each(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-chosen-'));
  cwd = join(home, 'cloned');
  for (const folder of [home, cwd]) mkdirSync(join(folder, '.svc'), { recursive: true });
});
test.after.each(() => rmSync(home, { recursive: true }));

const FAR = 'https://svc.example';
const OWN = Object.values(networkInterfaces()).flatMap((several) => several ?? [])[0]?.address ?? '';
const loaded = (file: string, env: Record<string, string>, at = cwd) => {
  writeFileSync(join(at, '.svc/config.toml'), file);
  return loadConfig({ flags: {}, env, cwd: at, home });
};

test('a token of the environment goes to no other machine that the file of a folder names, and the refusal says so', () => {
  const config = loaded(`[client]\napi_target = "${FAR}"\n`, { SVC_API_TOKEN: 'planted' });
  assert.is(tokenFor(config, FAR), '');
  assert.is(
    whyNoToken(config, FAR),
    `api.token is not sent to a machine that ${cwd}/.svc/config.toml names: set SVC_CLIENT_API_TARGET to it as well`,
  );
});

test('it goes to this machine, and where the same file, the environment or the own file of the user says', () => {
  const env = { SVC_API_TOKEN: 'planted' };
  for (const near of ['http://localhost:8081', 'http://[::1]:9', `http://${OWN.includes(':') ? `[${OWN}]` : OWN}:9`])
    assert.is(tokenFor(loaded(`[client]\napi_target = "${near}"\n`, env), near), 'planted', near);
  const both = loaded(`[client]\napi_target = "${FAR}"\n[api]\ntoken = "planted"\n`, {});
  assert.is(tokenFor(both, FAR), 'planted');
  assert.is(tokenFor(loaded('', { ...env, SVC_CLIENT_API_TARGET: FAR }), FAR), 'planted');
  assert.is(tokenFor(loaded(`[client]\napi_target = "${FAR}"\n`, env, home), FAR), 'planted');
});

test('without any token the refusal names the variable', () => {
  assert.match(
    whyNoToken(loaded(`[client]\napi_target = "${FAR}"\n`, {}), FAR),
    'api.token is missing; set SVC_API_TOKEN',
  );
});

test.run();
