/** Looks for a text in the system prompts and tools of a session's calls: in each distinct one once, at the first call that holds it. */
import type { Database } from '../../db/database.ts';
import type { PromptCall, PromptPlace } from '../../db/read/prompt-calls.ts';
import { literalPattern, matchAt } from '../../find/matches.ts';
import type { SessionMatch } from '../../model/find.ts';
import { openYielder } from '../yielder.ts';
import { nothingSeen, promptTexts } from './prompt-texts.ts';

type Search = { session_id: string; thread: string | null; text: string };

const PAGE = 32;

/** The matches of each call that has any of its own. A call that is not derived yet has no span to show them at. */
export async function* findInPrompts(
  execute: Database['execute'],
  { session_id, thread, text }: Search,
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
      const { trace_id, span_id } = span;
      const where = { side: 'prompt', place: 'prompt', trace_id, span_id, raw_turn_id } as const;
      yield (texts[i] ?? []).flatMap(({ block, offset, text: within }) =>
        [...within.matchAll(pattern)].map(({ 0: { length }, index }) => ({
          ...{ ...where, block },
          ...matchAt(within, index, length, offset),
        })),
      );
      await yieldThread();
    }
    after = page.at(-1) ?? null;
    more = page.length === PAGE;
  }
}
