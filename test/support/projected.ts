/** The projection of some calls, folded at once, and how tests look into it. */
import type { LinkKind, LinkRow, ProjectionChanges, SpanRow } from '../../core/derive/changes.ts';
import { noEvidence, type TranscriptEvidence } from '../../core/derive/evidence.ts';
import { fold } from '../../core/derive/fold.ts';
import { noChanges, summed } from '../../core/derive/merge-changes.ts';
import { emptyState } from '../../core/derive/state.ts';
import type { CallTurn } from '../../core/derive/turn.ts';
import { type Call, callTurns, SESSION } from './call-turn.ts';

export const projected = (calls: readonly Call[], evidence: TranscriptEvidence = noEvidence): ProjectionChanges =>
  projectedTurns(callTurns(calls), evidence);

export function projectedTurns(
  turns: readonly CallTurn[],
  evidence: TranscriptEvidence = noEvidence,
): ProjectionChanges {
  const sum = noChanges();
  fold(emptyState(SESSION), turns, { sum, checkpoints: [], evidence });
  const changes = summed(sum);
  if (!changes) throw new Error('Cannot project: no calls');
  return changes;
}

/** A span by its id within a trace. */
export const spanAt = (
  { spans }: ProjectionChanges,
  trace_id: string | undefined,
  id: string | null | undefined,
): SpanRow | undefined => spans.find((span) => span.trace_id === trace_id && span.span_id === id);

export const parentOf = (rows: ProjectionChanges, span: SpanRow | undefined): SpanRow | undefined =>
  spanAt(rows, span?.trace_id, span?.parent_span_id);

export const linksOf = ({ links }: ProjectionChanges, kind: LinkKind): LinkRow[] =>
  links.filter((link) => link.kind === kind);

export const spansOf = ({ spans }: ProjectionChanges, kind: SpanRow['kind']): SpanRow[] =>
  spans.filter((span) => span.kind === kind);
