/** The chain of a call's messages: the parent of each is the one before it, except that injected context is no parent. */
import { nodeHash } from './node.ts';

/** A message to be linked: its canonical text, and the kind of injected context that it is ('' for conversation). */
export type ChainLink = { canonical: string; injected: string };

/** A message in the chain. `depth` is the number of its ancestors. */
export type ChainNode = { node_hash: string; parent_hash: string | null; depth: number };

/**
 * The nodes of messages in their order. An injected one has the message before it as its parent, but the next message's parent
 * bypasses it, so that reminders which change from call to call do not fork the conversation.
 * `after` is the parent of the first one, with its depth.
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
