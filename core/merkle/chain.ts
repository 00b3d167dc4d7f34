/** How do a call's messages hang together? Each on the one before it, except that injected context carries nothing. */
import { nodeHash } from './node.ts';

/** A message to be linked: its canonical text, and the kind of injected context that it is ('' for conversation). */
export type ChainLink = { canonical: string; injected: string };

/** A message in its place. `depth` is the number of its ancestors. */
export type ChainNode = { node_hash: string; parent_hash: string | null; depth: number };

/**
 * The nodes of messages in their order. An injected one hangs off the spine where it stands, and the next message's parent
 * bypasses it, so that reminders which drift from call to call do not fork the conversation.
 * `after` is the node on which the first one hangs, with its depth.
 */
export function chain(links: readonly ChainLink[], after?: { hash: string | null; depth: number }): ChainNode[] {
  let parent = after?.hash ?? null;
  let depth = parent === null ? 0 : (after?.depth ?? 0) + 1;
  return links.map(({ canonical, injected }) => {
    const node = { node_hash: nodeHash(parent, canonical), parent_hash: parent, depth };
    if (injected === '') {
      parent = node.node_hash;
      depth++;
    }
    return node;
  });
}
