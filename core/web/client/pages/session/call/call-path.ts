/** The addresses of a call: its context, and its bytes. */

export type CallView = 'context' | 'bytes';

export const callPath = (session: string, raw_turn_id: number, view: CallView): string =>
  `/sessions/${session}/calls/${raw_turn_id}${view === 'bytes' ? '/bytes' : ''}`;
