/**
 * Is the browser's page as quick as it has to be? A built service and a real browser, in groups: `npm run bench -- web:load`.
 * Bars are for a machine of two cores that has nothing else to do.
 */
import { benchContext } from './web-context.ts';
import { benchFind } from './web-find.ts';
import { benchKeys } from './web-keys.ts';
import { benchLive } from './web-live.ts';
import { benchLoad } from './web-load.ts';
import { benchOutline } from './web-outline.ts';
import { benchScroll } from './web-scroll.ts';
import { benchSession } from './web-session.ts';
import { type Ground, openGround } from './web-stand.ts';

const groups: Record<string, (ground: Ground) => Promise<void>> = {
  outline: benchOutline,
  load: benchLoad,
  session: benchSession,
  context: benchContext,
  scroll: benchScroll,
  keys: benchKeys,
  find: benchFind,
  live: benchLive,
};

/** @param names of groups; none: all of them */
export async function benchWeb(names: readonly string[] = []): Promise<void> {
  const unknown = names.filter((name) => !(name in groups));
  if (unknown.length > 0)
    throw new Error(`Cannot run '${unknown.join("', '")}': the groups are ${Object.keys(groups).join(', ')}`);
  const ground = openGround();
  try {
    for (const [name, run] of Object.entries(groups)) if (names.length === 0 || names.includes(name)) await run(ground);
  } finally {
    await ground.close();
  }
}
