/** Folds several calls on top of what has been folded, and collects their changes. */
import { advance, type FoldInputs } from './advance.ts';
import { type Checkpoint, checkpointAt } from './checkpoint.ts';
import { addChanges, type ChangeSum } from './merge-changes.ts';
import type { SessionState } from './state.ts';
import type { CallTurn } from './turn.ts';

/** Folds calls in their order. Adds their changes to `sum`, and the checkpoints that fall due to `checkpoints`. */
export function fold(
  state: SessionState,
  turns: readonly CallTurn[],
  { sum, checkpoints, ...outside }: { sum: ChangeSum; checkpoints: Checkpoint[] } & FoldInputs,
): SessionState {
  let folded = state;
  for (const turn of turns) {
    const checkpoint = checkpointAt(folded, turn);
    if (checkpoint) checkpoints.push(checkpoint);
    const step = advance(folded, turn, outside);
    addChanges(sum, step.changes);
    folded = step.state;
  }
  return folded;
}
