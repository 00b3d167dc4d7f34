/** The ids of derived rows: UUIDs v5 of the wire identity, not of the session, so that repairing attribution does not change them. */
import { parse, v5 } from 'uuid';

const NAMESPACE = parse('6f0a4b5e-52d3-5c39-8a0e-3d1f6f9c2b71');
const id = (...parts: (string | number)[]) => v5(Buffer.from(parts.join('\0')), NAMESPACE);

export const traceId = (openingCallId: string): string => id('trace', openingCallId);
export const agentSpanId = (openingCallId: string): string => id('agent', 'main', openingCallId);

/** @param lost the call that creates the span, where the trace may have had one of this thread that the state dropped; else '' */
export const threadSpanId = (threadId: string, lost: string): string =>
  id('agent', 'thread', threadId, ...(lost ? [lost] : []));

export const llmSpanId = (callId: string): string => id('llm', callId);
export const eventSpanId = (nodeHash: string, callId: string): string => id('event', nodeHash, callId);

/** @param index the block's index among the reply's, when its tool_use_id is empty or not its own; else '' */
export const toolSpanId = (callId: string, toolUseId: string, index: number | ''): string =>
  id('tool', callId, toolUseId, index);
