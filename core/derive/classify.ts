/** What is a call for? Every call that is not recognised as something else is the conversation itself. */
import type { CallTurn } from './turn.ts';

/** `main`: the conversation. Kinds of shadow and compaction calls join this list with their rules. */
export type CallKind = 'main';

export const callKind = (_turn: CallTurn): CallKind => 'main';
