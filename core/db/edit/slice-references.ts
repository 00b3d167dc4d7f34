/** The slices that raw turns refer to: their recipes page by page down to the slices of bodies, their responses and their headers. */
import { type SQL, sql } from 'drizzle-orm';
import { idsIn } from '../../capture/recipe.ts';
import { unpackSlice } from '../../capture/slice-codec.ts';
import { lruCache } from '../../lru-cache.ts';
import { batches } from '../batches.ts';
import { hexArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

const BATCH = { turns: 200, pages: 2_000 };

type References = {
  raw_turn_id: number;
  pages: Uint8Array;
  depth: number;
  request_template: string | null; // of headers
  response_template: string | null;
  answer: string | null;
};

/**
 * The ids in hex, for matching turns `t`, a batch of turns at a time; an id may come more than once. A page is read once while it is in
 * the cache: most of a call's pages are those of the call before. A missing page refers to nothing.
 * @param except turns that are skipped
 */
export async function* sliceReferences(
  db: Sql,
  matching: SQL,
  except: ReadonlySet<number> = new Set(),
): AsyncGenerator<string[]> {
  const read = lruCache<string, true>(200_000);
  for (let after = 0; ; ) {
    const turns = await db.rows<References>(sql`
      select t.raw_turn_id, t.request_pages as pages, t.request_page_depth as depth,
             encode(t.request_header_template, 'hex') as request_template, encode(t.response_header_template, 'hex') as response_template,
             encode(t.response_slice, 'hex') as answer
        from svc.raw_turns t
       where t.raw_turn_id > ${after} and ${matching}
       order by t.raw_turn_id
       limit ${BATCH.turns}`);
    const selected = turns.filter(({ raw_turn_id }) => !except.has(raw_turn_id));
    yield selected.flatMap(({ request_template, response_template, answer }) =>
      [request_template, response_template, answer].filter((id) => id !== null),
    );
    let listed: string[] = []; // by the pages of the level above
    for (let level = Math.max(0, ...selected.map(({ depth }) => depth)); level >= 0; level--) {
      const ids = [...listed, ...selected.flatMap(({ pages, depth }) => (depth === level ? idsIn(pages) : []))];
      yield ids;
      if (level === 0) break;
      const unread = [...new Set(ids)].filter((id) => !read.has(`${level} ${id}`));
      const pages: string[][] = [];
      for (const batch of batches(unread, BATCH.pages)) pages.push(await listedIn(db, batch));
      for (const id of unread) read.set(`${level} ${id}`, true);
      listed = pages.flat();
    }
    const last = turns.at(-1);
    if (!last || turns.length < BATCH.turns) return;
    after = last.raw_turn_id;
  }
}

async function listedIn(db: Sql, pages: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ codec: 0 | 1; bytes: Uint8Array }>(sql`
    select codec, bytes from svc.slices where slice_id = any(${hexArray(pages)}::bytea[])`);
  return rows.flatMap((page) => idsIn(unpackSlice(page)));
}
