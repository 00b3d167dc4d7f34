/** The nodes that a batch of turns is the first to store, with what is known of them: for whoever publishes them after the commit. */

import type { CallKind } from '../../model/call-kind.ts';
import type { Identity } from '../../model/identity.ts';
import type { CallNodes } from '../../model/node.ts';
import type { PlacedNode } from './insert-nodes.ts';
import type { PlacedCall } from './put-nodes.ts';

/** `root_hash`: of the conversation; null where its beginning is not in the turn, since the provider keeps it. */
export type NewNode = PlacedNode & {
  root_hash: string | null;
  format: string;
  call_kind: CallKind;
} & Pick<Identity, 'harness_id' | 'thread_id'>;

type ReadTurn = PlacedCall & { format: string; identity: Identity };

/** Each turn with the new nodes that it is the first of the batch to hold; they keep the order of `fresh`, each after its parent. */
export function withNewNodes<Turn extends { raw_turn_id: number }>(
  appended: readonly Turn[],
  turns: readonly ReadTurn[],
  fresh: readonly PlacedNode[],
): (Turn & { new_nodes: NewNode[] })[] {
  const waiting = new Map(fresh.map((node) => [keyOf(node), node]));
  const byId = new Map(turns.map((turn) => [turn.raw_turn_id, turn]));
  const firstHeld = new Map<number, NewNode[]>();
  for (const turn of turns) {
    if (waiting.size === 0) break;
    const root_hash = rootOf(turn.nodes);
    const found: NewNode[] = [];
    for (const message of [...turn.nodes.messages, turn.nodes.answer]) {
      const key = message && keyOf({ session_id: turn.session_id, node_hash: message.node_hash });
      const node = key ? waiting.get(key) : undefined;
      if (!key || !node) continue;
      waiting.delete(key);
      const { format, identity, nodes } = byId.get(node.raw_turn_id) ?? turn; // its attributes are those of the earliest call
      const { harness_id, thread_id } = identity;
      found.push({ ...node, root_hash, format, call_kind: nodes.call.kind, harness_id, thread_id });
    }
    firstHeld.set(turn.raw_turn_id, found);
  }
  return appended.map((turn) => ({ ...turn, new_nodes: firstHeld.get(turn.raw_turn_id) ?? [] }));
}

const keyOf = ({ session_id, node_hash }: Pick<PlacedNode, 'session_id' | 'node_hash'>) => `${session_id} ${node_hash}`;

/** The first message that is conversation; what a harness inserts before it is a root by its hash, but no conversation of its own. */
function rootOf({ messages, answer }: CallNodes): string | null {
  const first = messages.find(({ injected }) => injected === '') ?? answer ?? messages[0];
  return first && first.parent_hash === null ? first.node_hash : null;
}
