/** Cassettes that do their worst in processes of their own: everybody else is answered, it is shown what happened, and they come back. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { CassetteList } from '../../core/model/cassette.ts';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEmbeddedDatabase } from '../support/whole-service.ts';

/** What each does when it is asked for `/now`, and how that is told. */
const HOSTILE: Record<string, [does: string, says: RegExp]> = {
  loops: ['for (;;);', /no answer to its heartbeat/],
  eats: ['for (const eaten = []; ; ) eaten.push(new Array(1e6).fill(Math.random()));', /it ran out of memory/],
  exits: ['process.exit(3);', /it ended with code 3/],
  rejects: ["void Promise.reject(new Error('nobody listens')); return json({});", /a rejection that nothing handled/],
  // What nobody reads fast enough it keeps itself, so its memory may end before its time does.
  floods: ["for (;;) console.log('flood flood\\n'.repeat(500));", /no answer to its heartbeat|it ran out of memory/],
};
const NAMES = Object.keys(HOSTILE);

const cassettes = ({ api }: Service) => read<CassetteList>(`${api}/v1/cassettes`);
const statesOf = async (service: Service) =>
  Object.fromEntries((await cassettes(service)).cassettes.map(({ name, state }) => [name, state]));
const allIn = Object.fromEntries(['good', ...NAMES].map((name) => [name, 'admitted']));
const answers = async ({ api }: Service, name: string) => (await fetch(`${api}/v1/cassettes/${name}/hello`)).status;

onEmbeddedDatabase('hostile cassettes', (test) => {
  test.before(async ({ folder, service }) => {
    const entries = ['good', ...NAMES].map(async (name) => {
      const before = `if (path === '/api/${name}/now') { ${HOSTILE[name]?.[0] ?? ''} }`;
      await cassetteFolder({ name, before }, join(folder, name));
      return { name, source: `./${name}` };
    });
    await writeFile(
      join(folder, 'cassette.manifest.json'),
      JSON.stringify({ cassettes: await Promise.all(entries) }, null, 2),
    );
    await eventually('all of them to be admitted', async () => {
      const states = await statesOf(service);
      return ['good', ...NAMES].every((name) => states[name] === 'admitted');
    });
  });

  test('whatever they do, the core and the others answer; what happened is told, and they come back', async ({
    service,
  }) => {
    const seen: Record<string, Set<string>> = Object.fromEntries(NAMES.map((name) => [name, new Set()]));
    const statuses = { sessions: new Set<number>(), good: new Set<number>() };
    let rounds = 0;
    let over = false;
    const watching = (async () => {
      for (; !over; rounds++) {
        statuses.sessions.add((await fetch(`${service.api}/v1/sessions`)).status);
        statuses.good.add(await answers(service, 'good'));
        const { cassettes: all, problems } = await cassettes(service);
        for (const { subject, step, reason } of problems) {
          assert.is.not(all.find(({ name }) => name === subject)?.state, 'admitted', subject);
          seen[subject]?.add(`${step}: ${reason}`);
        }
        await new Promise((next) => setTimeout(next, 20));
      }
    })();
    const hurt = async (name: string) => {
      const happened = () => [...(seen[name] ?? [])].some((reason) => HOSTILE[name]?.[1].test(reason));
      for (let tries = 1; tries <= 5 && !happened(); tries++) {
        const { status } = await fetch(`${service.api}/v1/cassettes/${name}/now`);
        assert.ok([200, 502].includes(status), `${name} answered ${status}`);
        await eventually(`${name} to be started again`, async () => {
          const one = (await cassettes(service)).cassettes.find((each) => each.name === name);
          return one?.state === 'admitted' && (one.liveness?.restarts ?? 0) >= tries;
        });
      }
    };
    try {
      await Promise.race([Promise.all(NAMES.map(hurt)), watching]);
    } finally {
      over = true;
      await watching;
    }
    for (const [name, [, says]] of Object.entries(HOSTILE))
      assert.ok(
        [...(seen[name] ?? [])].some((reason) => reason.startsWith('start: ') && says.test(reason)),
        `${name}: ${[...(seen[name] ?? [])].join('; ') || 'nothing was told'}`,
      );
    assert.ok(rounds > 10, `${rounds} rounds`);
    assert.equal({ sessions: [...statuses.sessions], good: [...statuses.good] }, { sessions: [200], good: [200] });
    assert.equal(await statesOf(service), allIn);
    for (const name of NAMES) assert.is(await answers(service, name), 200, name);
  });

  test('the one that was left in peace was never started again, and a flood is not kept in the log', async ({
    service,
  }) => {
    const good = (await cassettes(service)).cassettes.find(({ name }) => name === 'good');
    assert.equal(good?.liveness, { state: 'up', restarts: 0 });
    assert.match(service.log(), 'it writes more than is kept: lines were left out');
    const kept = service.log().split('flood flood').length;
    assert.ok(kept > 1 && service.log().length < 5_000_000, `${service.log().length} characters of log`);
  });
  test.run();
});
