/** POST /v1/mcp: the records, as tools for agents. (Model Context Protocol, streamable HTTP without sessions.) */
import { createRoute, z } from '@hono/zod-openapi';
import { cassetteUnknown } from '../../cassette/cassette-unknown.ts';
import { Failure, guardFailures, json, routes } from '../../http/routes.ts';
import type { Logger } from '../../log.ts';
import { McpAnswer, McpMessage, McpRefusal, PROTOCOL_VERSIONS } from '../../model/mcp.ts';
import type { OfferingCassettes } from './answer.ts';
import { allTools, type McpTool } from './tool.ts';

const PATH = '/v1/mcp';

/** An example for the contract, in the words of the SDK. */
const refusalExample = (message: string) => ({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } });

const callMcp = createRoute({
  method: 'post',
  path: PATH,
  operationId: 'callMcp',
  tags: ['mcp'],
  summary: 'Model Context Protocol: tools with which an agent reads what was recorded',
  description: [
    'Streamable HTTP without sessions: each request is complete in itself, and is answered in JSON, never as a stream.',
    'A message or, as in 2025-03-26, a batch of at most 100 of them; the body may have 1 MiB. A client that accepts',
    'neither JSON nor everything is refused. Without `MCP-Protocol-Version` 2025-03-26 is taken for granted.',
    'What a tool could not do is a result with `isError`, not a status.',
  ].join(' '),
  request: {
    headers: z.object({ 'mcp-protocol-version': z.enum(PROTOCOL_VERSIONS).optional() }),
    body: { required: true, content: { 'application/json': { schema: McpMessage } } },
  },
  responses: {
    200: json(McpAnswer, 'The answer; to a batch, a list of answers if more than one is due'),
    202: { description: 'Nothing to answer: only notifications or responses came', content: {} },
    400: json(McpRefusal, 'No JSON, no JSON-RPC, too long a batch, or a protocol version that is not spoken'),
    406: json(
      McpRefusal,
      'The client takes no JSON',
      refusalExample('Not Acceptable: Client must accept both application/json and text/event-stream'),
    ),
    413: json(
      McpRefusal,
      'Body too large',
      refusalExample('Payload Too Large: Request body must not exceed 1048576 bytes'),
    ),
    415: json(
      McpRefusal,
      'The body is not JSON',
      refusalExample('Unsupported Media Type: Content-Type must be application/json'),
    ),
    ...guardFailures,
  },
});

const unsupported = (method: 'get' | 'delete', operationId: string, summary: string) =>
  createRoute({
    method,
    path: PATH,
    operationId,
    tags: ['mcp'],
    summary,
    responses: {
      405: json(Failure, 'Always'),
      ...guardFailures,
    },
  });

const listenMcp = unsupported(
  'get',
  'listenMcp',
  'Refused, as the protocol permits: this server sends nothing unrequested',
);
const endMcp = unsupported('delete', 'endMcp', 'Refused, as the protocol permits: there is no session to end');

type Deps = {
  tools: readonly McpTool[];
  /** The tools of cassettes, called for each request. They cannot replace one of `tools`. */
  joined?: () => readonly McpTool[];
  /** Those that may offer resources and prompts. Absent: there are none. */
  cassettes?: OfferingCassettes;
  version: string;
  log: Logger;
};

/** As its cassette declares it; those of the service all read. */
const isReading = ({ annotations }: McpTool): boolean => annotations.readOnlyHint === true;

const NO_CASSETTES: OfferingCassettes = { installed: () => [], send: () => Promise.reject(cassetteUnknown()) };

export const mcpApp = ({ tools, joined = () => [], cassettes = NO_CASSETTES, version, log }: Deps) => {
  const app = routes();
  // Plain handlers: the protocol has its own errors for what a route would refuse. GET and DELETE are refused like any unrouted method.
  for (const route of [callMcp, listenMcp, endMcp]) app.openAPIRegistry.registerPath(route);
  return app.post(PATH, async (c) => {
    const { answerMcp } = await import('./answer.ts'); // many modules that the start does not need
    const deps = {
      tools: allTools(tools, c.get('readOnly') ? joined().filter(isReading) : joined()),
      cassettes, // what they offer is read by GET, so the token that reads has it all
      version,
      log,
      requestId: c.get('requestId'),
    };
    const response = await answerMcp(c.req.raw, deps);
    return c.newResponse(response.body, response); // with the headers that were set on the way here
  });
};
