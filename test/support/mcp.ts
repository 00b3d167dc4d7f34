/** MCP clients for tests: the SDK's client over a socket, in any version of the protocol, or messages written by hand. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import type { Json } from './read-api.ts';

export type McpClient = {
  client: Client;
  version: string | undefined;
  /** The result of a tool: its text, and what is structured or null. */
  call(name: string, args?: Record<string, unknown>): Promise<{ text: string; structured: Json; isError: boolean }>;
  close(): Promise<void>;
};

/** @param version the one that is offered; the SDK would offer its newest */
export async function connectMcp(api: string, { version = '', token = '' } = {}): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '0' });
  const transport = new StreamableHTTPClientTransport(new URL('/v1/mcp', api), {
    requestInit: { headers: token === '' ? {} : { authorization: `Bearer ${token}` } },
  });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (version !== '' && 'method' in message && message.method === 'initialize' && message.params)
      message.params.protocolVersion = version;
    return send(message, options);
  };
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own types differ in what may be undefined
  await client.connect(transport as any);
  return {
    client,
    version: transport.protocolVersion,
    call: async (name, args = {}) => {
      const { content, structuredContent, isError } = (await client.callTool({
        name,
        arguments: args,
      })) as CallToolResult;
      const [only] = content;
      assert.is(content.length, 1);
      assert.ok(only?.type === 'text');
      return { text: only.text, structured: structuredContent ?? null, isError: isError === true };
    },
    close: () => client.close(),
  };
}

export const rpc = (method: string, params: unknown = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

/** A request to an app: JSON, as a client of the protocol sends it. */
export const posted = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
