/** The messages between an MCP client and /v1/mcp: JSON-RPC 2.0, described as far as HTTP has to know them. */
import { z } from '@hono/zod-openapi';

/** Newest first. A test compares the list with what the SDK supports. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

const MessageId = z.union([z.string(), z.int()]);

const Message = z.object({
  jsonrpc: z.literal('2.0'),
  id: MessageId.optional().describe('absent: a notification, which gets no response'),
  method: z
    .string()
    .describe(
      'initialize, ping, tools/list, tools/call; resources/… and prompts/… where a cassette offers some; or notifications/…',
    ),
  params: z.record(z.string(), z.unknown()).optional(),
});

export const McpMessage = z.union([Message, z.array(Message).max(100)]).openapi('McpMessage', {
  examples: [
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'svc_sessions', arguments: { limit: 5 } } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  ],
});

const RpcError = z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() });

const Answer = z.object({
  jsonrpc: z.literal('2.0'),
  id: MessageId,
  result: z.record(z.string(), z.unknown()).optional(),
  error: RpcError.optional().describe('instead of a result; what a tool could not do is a result with isError'),
});

export const McpAnswer = z.union([Answer, z.array(Answer)]).openapi('McpAnswer', {
  examples: [{ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'No session matches.' }] } }],
});

export const McpRefusal = z.object({ jsonrpc: z.literal('2.0'), id: z.null(), error: RpcError }).openapi('McpRefusal', {
  examples: [{ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error: Invalid JSON' } }],
});
