/** What was read of sessions, divided into commits: large prompts would keep everybody waiting for a single one. */
import { addTo } from '../../call/placement.ts';
import {
  type FoundText,
  type IndexedKey,
  type IndexedSession,
  LAST_ID,
  type SessionBehind,
  type SpanToIndex,
} from '../../db/find/index-spans.ts';
import type { FoundPrompts, PromptUse } from '../../db/find/prompts.ts';

/** `spans`: those that were read of the sessions. `more`: of the last one's session there may be further ones. */
export type IndexRead = {
  sessions: readonly SessionBehind[];
  spans: readonly SpanToIndex[];
  more: boolean;
  texts: readonly FoundText[];
  prompts: FoundPrompts;
};

export type IndexCommit = {
  sessions: IndexedSession[];
  replaced: Pick<SpanToIndex, 'session_id' | 'span_id'>[];
  texts: FoundText[];
  prompts: FoundPrompts;
};

/** Characters of prompts with one commit: the embedded database writes some thousand in a millisecond. */
const AT_ONCE = 524_288;

/** In the order of the spans, each with one of them at least. Sessions without a span are in the first. */
export function indexCommits({ sessions, spans, more, texts, prompts }: IndexRead): IndexCommit[] {
  const usesOf = new Map<string, PromptUse[]>();
  const textsOf = new Map<string, FoundText[]>();
  for (const use of prompts.uses) addTo(usesOf, keyOfSpan(use), use);
  for (const text of texts) addTo(textsOf, keyOfSpan(text), text);
  const pieces = new Map(prompts.pieces.map((piece) => [piece.piece_id, piece]));
  const lastOf = new Map(spans.map((span) => [span.session_id, span]));
  const last = more ? spans.at(-1) : undefined;
  const counted = new Set<string>(); // what sessions share is written once
  const parts = divided(spans, (span) => {
    const fresh = (usesOf.get(keyOfSpan(span)) ?? []).filter(({ piece_id }) => !counted.has(piece_id));
    for (const { piece_id } of fresh) counted.add(piece_id);
    return fresh.reduce((sum, { piece_id }) => sum + (pieces.get(piece_id)?.text.length ?? 0), 0);
  });
  return parts.map((part, i) => {
    const reached = new Map(part.map((span) => [span.session_id, span]));
    const own = sessions.filter(({ session_id }) => reached.has(session_id) || (i === 0 && !lastOf.has(session_id)));
    const again = new Set(own.flatMap((session) => (session.again ? session.session_id : [])));
    const uses = part.flatMap((span) => usesOf.get(keyOfSpan(span)) ?? []);
    const used = new Set(uses.map(({ piece_id }) => piece_id));
    return {
      sessions: own.map(({ session_id, rev }) => {
        const span = reached.get(session_id);
        const isPart = span !== undefined && (span === last || span !== lastOf.get(session_id));
        return { session_id, rev, done: isPart ? keyOf(span) : { rev, trace_id: LAST_ID, span_id: LAST_ID } };
      }),
      replaced: part
        .filter(({ session_id }) => again.has(session_id))
        .map(({ session_id, span_id }) => ({ session_id, span_id })),
      texts: part.flatMap((span) => textsOf.get(keyOfSpan(span)) ?? []),
      prompts: { pieces: prompts.pieces.filter(({ piece_id }) => used.has(piece_id)), uses },
    };
  });
}

/** One part at least, which may be empty. */
function divided(spans: readonly SpanToIndex[], charactersOf: (span: SpanToIndex) => number): SpanToIndex[][] {
  let part: SpanToIndex[] = [];
  const parts = [part];
  let characters = 0;
  for (const span of spans) {
    const own = charactersOf(span);
    if (part.length > 0 && characters + own > AT_ONCE) {
      part = [];
      parts.push(part);
      characters = 0;
    }
    part.push(span);
    characters += own;
  }
  return parts;
}

export const keyOf = ({ rev, trace_id, span_id }: IndexedKey): IndexedKey => ({ rev, trace_id, span_id });
const keyOfSpan = ({ session_id, trace_id, span_id }: Pick<SpanToIndex, 'session_id' | 'trace_id' | 'span_id'>) =>
  `${session_id} ${trace_id} ${span_id}`;
