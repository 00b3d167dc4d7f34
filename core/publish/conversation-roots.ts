/** The conversation that each new node belongs to, by its root's hash. Where a provider keeps the conversation, the call does not show it. */

import type { Database } from '../db/database.ts';
import type { NewNode } from '../db/store/new-nodes.ts';
import { lruCache } from '../lru-cache.ts';

const CACHE_SIZE = 20_000; // nodes

/** In the order of the nodes, of which each comes after its parent. */
export type ConversationRoots = (nodes: readonly NewNode[]) => Promise<string[]>;

export function conversationRoots(database: Pick<Database, 'execute'>): ConversationRoots {
  const known = lruCache<string, string>(CACHE_SIZE);
  return async (nodes) => {
    const roots = new Map<string, string>();
    const learn = (node: NewNode, root: string) => {
      roots.set(keyOf(node), root);
      known.set(keyOf(node), root);
    };
    const rootOf = (node: NewNode) => {
      const parent = `${node.session_id} ${node.parent_hash}`;
      return node.root_hash ?? roots.get(parent) ?? known.get(parent);
    };
    const unknown = nodes.filter((node) => {
      const root = rootOf(node);
      if (root !== undefined) learn(node, root);
      return root === undefined;
    });
    const found = await database.execute('nodeRoots', {
      nodes: unknown.map(({ session_id, node_hash }) => ({ session_id, node_hash })),
    });
    unknown.forEach((node, index) => {
      learn(node, found[index] ?? node.node_hash);
    });
    return nodes.map((node) => roots.get(keyOf(node)) ?? node.node_hash);
  };
}

const keyOf = ({ session_id, node_hash }: NewNode) => `${session_id} ${node_hash}`;
