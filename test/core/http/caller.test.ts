/** Who is asked for? Nobody but a gateway that the operator trusts can say; every other header that claims a name is just text. */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callerOf, callers } from '../../../core/http/caller.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { routes } from '../../../core/http/routes.ts';

const test = suite('callers');

const telling = (trusted: boolean) => {
  const app = routes();
  app.use(callers(trusted));
  return app.get('/', (c) => c.json({ caller: callerOf(c), header: c.req.header('x-svc-auth-subject') ?? null }));
};
const callerSeen = async (trusted: boolean, headers: Record<string, string>) =>
  (await telling(trusted).request('/', { headers })).json();

const nobody = { caller: null, header: null };

test('the subject counts with trust, without it it is dropped; either way the header goes no further', async () => {
  assert.equal(await callerSeen(true, { 'x-svc-auth-subject': 'ada@example.org' }), {
    caller: 'ada@example.org',
    header: null,
  });
  assert.equal(await callerSeen(true, { 'X-SVC-Auth-Subject': 'cn=Ada, dc=example' }), {
    caller: 'cn=Ada, dc=example',
    header: null,
  });
  assert.equal(await callerSeen(false, { 'x-svc-auth-subject': 'ada@example.org' }), nobody);
});

test('nothing else that is sent is ever taken for an identity or a tenant', async () => {
  for (const name of [
    'x-forwarded-user',
    'x-forwarded-email',
    'x-forwarded-preferred-username',
    'x-forwarded-for',
    'x-auth-request-user',
    'x-authenticated-user',
    'x-remote-user',
    'remote-user',
    'remote_user',
    'x-user',
    'x-user-id',
    'x-org-id',
    'x-tapes-org-id',
    'x-svc-org-id',
    'x-svc-tenant',
    'x-svc-auth-org',
    'x-svc_auth_subject',
    'x_svc_auth_subject',
    'x-tenant-id',
    'x-scope-orgid',
    'tailscale-user-login',
    'cf-access-authenticated-user-email',
    'x-goog-authenticated-user-email',
    'x-ms-client-principal',
    'authorization',
    'cookie',
    'from',
  ])
    for (const trusted of [true, false]) assert.equal(await callerSeen(trusted, { [name]: 'mallory' }), nobody, name);
});

test('a subject that is empty, endless or has control characters is nobody', async () => {
  for (const subject of ['', ' ', 'x'.repeat(257), 'a\tb', 'a\u0085b'])
    assert.equal(await callerSeen(true, { 'x-svc-auth-subject': subject }), nobody, JSON.stringify(subject));
  const longest = 'x'.repeat(256);
  assert.equal(await callerSeen(true, { 'x-svc-auth-subject': longest }), { caller: longest, header: null });
});

test('a subject that is sent twice is nobody: one of them is not from the gateway', async () => {
  const served = await serveApp({ fetch: telling(true).fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
  const ask = (subjects: string[]) =>
    new Promise((done, fail) => {
      const outgoing = request(served.addresses[0] ?? '', {
        agent: false,
        headers: { 'X-Svc-Auth-Subject': subjects },
      });
      outgoing.on('response', (answer) => {
        let text = '';
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on('end', () => done(JSON.parse(text)));
      });
      outgoing.on('error', fail);
      outgoing.end();
    });
  assert.equal(await ask(['ada']), { caller: 'ada', header: null });
  assert.equal(await ask(['mallory', 'ada']), nobody);
  await served.close(0);
});

test.run();
