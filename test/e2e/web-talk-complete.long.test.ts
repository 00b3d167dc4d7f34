/** Talk in a real browser holds all that was said, once, and has sub-agents as cards: in the demo, and in what real harnesses sent. */
import * as assert from 'uvu/assert';
import type { Session } from '../../core/model/session.ts';
import { assertCards } from '../support/agent-cards.ts';
import { assertComplete } from '../support/complete-talk.ts';
import { startRecordings } from '../support/replayed-sessions.ts';
import { read } from '../support/serve.ts';
import { inBrowser, type WebStand } from '../support/web.ts';
import { printing } from '../support/whole-service.ts';

const recordings = await startRecordings();

inBrowser(
  'the whole of Talk',
  (test) => {
    /** Those of the demo, which is seeded when there is one, and those that were replayed. */
    let demo: Session[] = [];
    let real: Session[] = [];

    test.before(
      printing(async (stand) => {
        demo = await sessions(stand);
        await recordings?.replayInto(stand.service);
        real = (await sessions(stand)).filter(({ id }) => !demo.some((one) => one.id === id));
      }),
    );

    test('has each text of the demo at its step and none twice, sub-agents in their threads', async (stand) => {
      assert.ok(demo.length >= 12);
      await assertAllComplete(stand, demo);
    });

    if (recordings) {
      test('has each text of what real harnesses sent, at its step and none twice', async (stand) => {
        assert.is(real.length, 4);
        await assertAllComplete(stand, real);
      });

      test('has the sub-agents of real harnesses as cards: at their tools, with their sums, and back again', async (stand) => {
        let cards = 0;
        for (const session of real) cards += await assertCards(stand, session);
        assert.is(cards, 4); // one of Claude Code, one of Codex, and of the corpus one below the other
      });
    }

    test('has the sub-agents of the demo as cards: at their tools, with their sums, and back again', async (stand) => {
      let cards = 0;
      for (const session of demo) cards += await assertCards(stand, session);
      assert.is(cards, 3);
    });

    test.run();
  },
  recordings ? { beside: async () => recordings } : {},
);

const sessions = async ({ base }: WebStand): Promise<Session[]> =>
  (await read<{ items: Session[] }>(`${base}/v1/browse/sessions?limit=50`)).items;

async function assertAllComplete(stand: WebStand, all: readonly Session[]): Promise<void> {
  for (const session of all) {
    const began = performance.now();
    const lines = await assertComplete(stand, session);
    const took = (performance.now() - began).toFixed(0);
    console.log(`${session.display_title.slice(0, 50)}: ${lines} lines, ${took} ms`);
    assert.ok(lines > 0);
  }
}
