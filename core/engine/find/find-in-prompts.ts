/** Looks for a text in the system prompts and tools of a session's calls: in each distinct one once, at the first call that holds it. */
import type { Database } from '../../db/database.ts';
import type { PromptCall, PromptPlace } from '../../db/read/prompt-calls.ts';
import { literalPattern, matchesFrom } from '../../find/matches.ts';
import type { SessionMatch } from '../../model/find.ts';
import { openYielder } from '../yielder.ts';
import { nothingSeen, type PromptText, promptTexts } from './prompt-texts.ts';

/** `most`: matches in a batch. */
type Search = { session_id: string; thread: string | null; text: string; most: number };

const PAGE = 32;

/** The matches of each call, in batches of which none is empty. A call that is not derived yet has no span to show them at. */
export async function* findInPrompts(
  execute: Database['execute'],
  { session_id, thread, text, most }: Search,
): AsyncGenerator<SessionMatch[], void> {
  const pattern = literalPattern(text);
  const seen = nothingSeen();
  const yieldThread = openYielder();
  for (let after: PromptPlace | null = null, more = true; more; ) {
    const page: PromptCall[] = await execute('promptCalls', { session_id, after, limit: PAGE });
    // A call that is not derived yet has no span.
    const calls = page.filter(({ span, thread_id }) => span && (thread === null || thread_id === thread));
    const texts = await promptTexts(
      execute,
      calls.map((call) => ({ call, seen })),
    );
    for (const [i, { span, raw_turn_id }] of calls.entries()) {
      if (!span) continue;
      for (const batch of matchesIn(pattern, { ...span, raw_turn_id }, texts[i] ?? [], most)) {
        yield batch;
        await yieldThread();
      }
      await yieldThread();
    }
    after = page.at(-1) ?? null;
    more = page.length === PAGE;
  }
}

type PromptSpan = Pick<SessionMatch, 'trace_id' | 'span_id' | 'raw_turn_id'>;

/** In batches, each made when it is taken: a prompt may hold a letter a hundred thousand times. */
function* matchesIn(
  pattern: RegExp,
  { trace_id, span_id, raw_turn_id }: PromptSpan,
  texts: readonly PromptText[],
  most: number,
): Generator<SessionMatch[], void> {
  const [side, place] = ['prompt', 'prompt'] as const;
  let batch: SessionMatch[] = [];
  for (const { block, offset, text } of texts)
    for (const { start, end, before, match, after } of matchesFrom(pattern, text, { offset })) {
      batch.push({ side, place, trace_id, span_id, raw_turn_id, block, start, end, before, match, after });
      if (batch.length < most) continue;
      yield batch;
      batch = [];
    }
  if (batch.length > 0) yield batch;
}
