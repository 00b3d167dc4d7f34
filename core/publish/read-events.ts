/** Makes the events of queued nodes: reads their content, which the queue does not hold, and the roots of their conversations. */
import type { Reader } from '../call/reader.ts';
import type { Database } from '../db/database.ts';
import type { NewNode } from '../db/store/new-nodes.ts';
import type { BrokerMessage } from './broker-messages.ts';
import { conversationRoots } from './conversation-roots.ts';
import { nodeContents } from './node-contents.ts';
import { eventText, nodeEvent } from './node-event.ts';

/** `message` null: its turn was purged meanwhile. */
export type QueuedEvent = { node: NewNode; message: BrokerMessage | null };

/** In the order of the nodes. @throws {DatabaseError} */
export type ReadEvents = (nodes: readonly NewNode[]) => Promise<QueuedEvent[]>;

export function openEventReader(database: Pick<Database, 'execute'>, reader: Reader): ReadEvents {
  const roots = conversationRoots(database);
  return async (nodes) => {
    const contents = await nodeContents(database, reader, nodes);
    const keys = await roots(nodes);
    return nodes.map((node, index) => {
      const content = contents[index];
      const key = keys[index] ?? node.node_hash;
      if (!content) return { node, message: null };
      const timestamp = String(Date.parse(node.created_at));
      return { node, message: { key, value: eventText(nodeEvent(node, key, content)), timestamp } };
    });
  };
}
