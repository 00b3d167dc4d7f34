/** The conversation that a call continues, as the chain of its messages shows it. */

/** A message of the call's request, in order, without what a harness injects. */
export type ChainMessage = { node_hash: string; role: string };

/** A stored message of one of the client's unnamed sessions whose hash is in the chain. */
export type KnownNode = {
  session_id: string;
  node_hash: string;
  role: string;
  is_head: boolean; // nothing of that session follows it
  started_at: string; // of the session
};

export type ConversationPlacement =
  | { kind: 'continue'; session_id: string }
  | { kind: 'fork'; session_id: string; node_hash: string }
  | { kind: 'new' };

/**
 * A call continues the session whose head is in its chain, if an answer is at or before that head: equal opening messages alone prove
 * nothing. Of several sessions the one with the deepest head is taken, then the newest, so twenty conversations with the same messages
 * and answers stay twenty. A known message that is no head makes a fork. An opening without an answer is continued only by its retry.
 */
export function placeConversation(
  chain: readonly ChainMessage[],
  known: readonly KnownNode[],
  retry = false,
): ConversationPlacement {
  const depths = new Map(chain.map(({ node_hash }, depth) => [node_hash, depth]));
  const firstAnswer = chain.findIndex(({ role }) => role === 'assistant');
  let head: KnownNode | null = null;
  let inner: KnownNode | null = null;
  for (const node of known) {
    const depth = depths.get(node.node_hash);
    if (depth === undefined) continue;
    const isRetry = retry && node.is_head && node.role !== 'assistant' && depth === chain.length - 1;
    if (!isRetry && (firstAnswer === -1 || depth < firstAnswer)) continue;
    if (node.is_head) head = later(head, node, depths);
    else inner = later(inner, node, depths);
  }
  if (head) return { kind: 'continue', session_id: head.session_id };
  if (inner) return { kind: 'fork', session_id: inner.session_id, node_hash: inner.node_hash };
  return { kind: 'new' };
}

/** Deeper, then newer; by id where both are equal, so that the result does not depend on the order of rows. */
function later(best: KnownNode | null, node: KnownNode, depths: ReadonlyMap<string, number>): KnownNode {
  if (!best) return node;
  const deeper = (depths.get(node.node_hash) ?? 0) - (depths.get(best.node_hash) ?? 0);
  if (deeper !== 0) return deeper > 0 ? node : best;
  if (node.started_at !== best.started_at) return node.started_at > best.started_at ? node : best;
  return node.session_id > best.session_id ? node : best;
}
