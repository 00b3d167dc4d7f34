/** The commands that read the record, beside the service with the cassettes that come with it: what they find by themselves, follow and export. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createServer } from 'node:tls';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { cert, key } from '../proxy/local-tls.ts';
import { svc as svcHere } from '../support/cli-program.ts';
import { echoOf } from '../support/scripted-provider.ts';
import { eventually, read, svc } from '../support/serve.ts';
import { onEmbeddedDatabase } from '../support/whole-service.ts';

onEmbeddedDatabase(
  'commands beside a service',
  (test) => {
    // the service listens before its cassettes are in, and answers 503 for them until they are
    test.before(async ({ service }) => {
      type Cassettes = { cassettes: { state: string }[] };
      await eventually('all cassettes', async () => {
        const { cassettes } = await read<Cassettes>(`${service.api}/v1/cassettes`);
        return cassettes.length === 3 && cassettes.every(({ state }) => state === 'admitted');
      });
    });

    test('a session is exported to a file that is there once it is complete', async ({ service, folder }) => {
      assert.is((await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
      const list = await svc(folder, ['sessions', '--json']);
      assert.is(list.status, 0, list.err);
      const first = (JSON.parse(list.out) as { items: { id: string }[] }).items[0]?.id ?? '';
      const file = join(folder, 'first.jsonl');
      const { status, out, err } = await svc(folder, ['export', '1', '-o', file]);
      assert.equal([status, out], [0, ''], err);
      assert.match(readFileSync(file, 'utf8').split('\n')[0] ?? '', first);
      assert.equal(
        readdirSync(dirname(file)).filter((name) => name.endsWith('.part')),
        [],
      );
      const all = await svc(folder, ['export', '--since', '2026-01-01', '--detail', 'traces']);
      assert.is(all.out.trimEnd().split('\n').length, 12, all.err);
      const away = await svc(folder, ['export', '1', '-o', join(folder, 'nowhere', 'x.jsonl')]);
      assert.is(away.status, 1);
      assert.match(away.err, /^Cannot export: ENOENT/);
    });

    test('a live conversation is followed turn by turn, until it is deleted', async ({ service, folder }) => {
      const client = new OpenAI({ baseURL: `${service.proxy}/openai/v1`, apiKey: 'k', maxRetries: 0 });
      const messages: OpenAI.ChatCompletionMessageParam[] = [];
      const say = async (content: string) => {
        messages.push({ role: 'user', content });
        const { choices } = await client.chat.completions.create({ model: 'local', messages });
        messages.push({ role: 'assistant', content: choices[0]?.message.content ?? '' });
      };
      await say('Where is the harbour?');
      const { id } = await eventually('the session', async () => {
        const { items } = await read<{ items: { id: string; display_title: string }[] }>(`${service.api}/v1/sessions`);
        return items.find(({ display_title }) => display_title === 'Where is the harbour?');
      });
      let printed = '';
      const out = (text: string) => {
        printed += text;
      };
      const following = svcHere(['sessions', 'show', id, '--follow'], { cwd: folder, out });
      await eventually('the first turn', async () => printed.includes(echoOf('Where is the harbour?')));
      await say('And the lighthouse?');
      await eventually('the second turn', async () => printed.includes(echoOf('And the lighthouse?')), 20_000);
      await fetch(`${service.api}/v1/sessions/${id}`, { method: 'DELETE' });
      assert.equal(await following, { status: 0, out: '', err: '' });
      assert.is(printed.split(echoOf('Where is the harbour?')).length, 2, printed);
      assert.ok(printed.indexOf('❯ Where is') < printed.indexOf('❯ And the lighthouse?'), printed);
    });

    test("a cassette's operations are commands, with what its document says of them", async ({ folder }) => {
      const run = (...args: string[]) => svc(folder, ['cassette', 'run', ...args]);
      const help = await run('skills');
      assert.is(help.status, 0, help.err);
      assert.match(help.out, /^ +create-skill \[options\] +Creates a skill from scratch/m);
      const args = ['--name', 'Moor at night', '--tags', 'sea', '--tags', 'night', '--content', '# Moor'];
      const created = await run('skills', 'createSkill', ...args);
      assert.is(created.status, 0, created.err);
      const { id, tags } = JSON.parse(created.out) as { id: string; tags: string[] };
      assert.equal(tags, ['sea', 'night']);
      assert.is((JSON.parse((await run('skills', 'read-skill', id)).out) as { id: string }).id, id);
      assert.match((await run('skills', 'download-skill', id)).out, /^---\nname: "moor-at-night"/);
      assert.is((await run('skills', 'read-skill')).status, 2);
      const twice = await run(
        'skills',
        'publish-skill-version',
        id,
        '--changelog',
        'first',
        '--idempotency-key',
        'one',
      );
      assert.is(twice.status, 0, twice.err);
      const none = await run('nothing');
      assert.equal([none.status, none.out], [1, '']);
      assert.match(none.err, /none is installed under that name/);
      const number = await run('search', 'find-spans', '--query', 'x', '--top-k', 'many');
      assert.is(number.status, 2);
    });

    test('skills are listed, printed and kept where an agent looks for them', async ({ folder }) => {
      const list = await svc(folder, ['skills']);
      assert.match(list.out, /moor-at-night/, list.err);
      assert.match((await svc(folder, ['skills', 'show', 'moor-at-night'])).out, '# Moor');
      const kept = await svc(folder, ['skills', 'show', 'moor-at-night', '-o', join(folder, 'skills')]);
      assert.is(kept.status, 0, kept.err);
      assert.match(readFileSync(join(folder, 'skills/moor-at-night/SKILL.md'), 'utf8'), '# Moor');
      const missing = await svc(folder, ['skills', 'show', 'nothing']);
      assert.equal([missing.status, missing.err.includes("'svc skills list' lists them")], [1, true]);
      const generated = await svc(folder, ['skills', 'generate', '1']);
      assert.is(generated.status, 1, 'no model is configured');
      assert.match(generated.err, /^Cannot generate the skill: .*no LLM key is configured/);
    });

    test('doctor sends a call through each listener, reads it back and leaves no session; what does not work has its remedy', async ({
      service,
      folder,
    }) => {
      const before = (JSON.parse((await svc(folder, ['sessions', '--json', '-n', '200'])).out) as { items: object[] })
        .items;
      const well = await svc(folder, [
        'doctor',
        '--provider',
        'openai',
        '--provider',
        'anthropic',
        '--provider',
        'ollama',
      ]);
      assert.is(well.status, 0, well.out);
      for (const check of ['read API', 'capture proxy', 'ingest API', 'recording by ingest'])
        assert.match(well.out, new RegExp(`^✓ ${check}: `, 'm'));
      for (const provider of ['openai', 'anthropic', 'ollama'])
        assert.match(
          well.out,
          new RegExp(`^✓ recording ${provider}: a call reached the provider, .* and was read back$`, 'm'),
        );
      const ill = await svc(folder, ['doctor', '--provider', 'gemini']);
      assert.is(ill.status, 1);
      assert.match(ill.out, /^✗ recording gemini: .* could not be reached\n {2}proxy\.upstreams\.gemini/m);
      const document = JSON.parse((await svc(folder, ['doctor', '--offline', '--json'])).out) as {
        findings: { level: string; check: string }[];
      };
      assert.ok(document.findings.some(({ level, check }) => level === 'skip' && check === 'recording'));
      const after = (await read<{ items: object[] }>(`${service.api}/v1/browse/sessions?limit=200`)).items;
      assert.is(after.length, before.length);
      assert.is((await svc(folder, ['doctor', '--provider', 'nobody'])).status, 2);
      const elsewhere = await svc(folder, ['doctor', '--api-listen', ':1']);
      assert.equal([elsewhere.status, elsewhere.out.includes('has nobody who listens\n  svc serve\n')], [1, true]);
    });

    test('doctor sends its call over TLS too, and a certificate that is refused is the reason that it shows', async ({
      service,
      folder,
    }) => {
      const far = Number(new URL(service.proxy).port);
      const front = createServer({ key, cert }, (near) => {
        const behind = connect(far, '127.0.0.1');
        near.pipe(behind).pipe(near);
        for (const socket of [near, behind])
          socket.on('error', () => near.destroy()).on('close', () => behind.destroy());
      }).on('tlsClientError', () => {});
      await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
      const authority = join(folder, 'authority.pem');
      writeFileSync(authority, cert);
      const target = `https://127.0.0.1:${(front.address() as AddressInfo).port}`;
      const doctor = async (env: Record<string, string>) => {
        const args = ['doctor', '--json', '--provider', 'openai', '--client-proxy-target', target];
        const { out, err } = await svc(folder, args, env);
        assert.is(err, '');
        const { findings } = JSON.parse(out) as { findings: { level: string; check: string; text: string }[] };
        const found = findings.find(({ check }) => check === 'recording openai');
        return [found?.level, found?.text];
      };
      try {
        const [level, text] = await doctor({ NODE_EXTRA_CA_CERTS: authority });
        assert.is(level, 'ok', text);
        assert.equal(await doctor({}), [
          'fail',
          'a call through the proxy got no response: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): NODE_EXTRA_CA_CERTS=<file> names its authority',
        ]);
      } finally {
        front.close();
      }
    });

    test.run();
  },
  { SVC_CASSETTES_BUILT_IN: 'true', SVC_PROXY_UPSTREAMS_GEMINI: 'http://127.0.0.1:1' },
);
