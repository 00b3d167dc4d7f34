/** The tools of cassettes: each is one of a cassette's operations, called by POST with the arguments as they came. */
import type { Installed } from '../../cassette/installed.ts';
import type { ToolDeclaration } from '../../cassette/openapi/tool-declarations.ts';
import { cassetteAnswer, jsonObject, LATE_MS, type SendRequest } from './cassette-answer.ts';
import type { McpTool } from './tool.ts';

/** The tools of admitted cassettes, by their names. @param lateMs the deadline for a complete response */
export const cassetteTools = (installed: readonly Installed[], send: SendRequest, lateMs = LATE_MS): McpTool[] =>
  installed
    .filter(({ state }) => state === 'admitted' || state === 'stale')
    .flatMap(({ entry, document }) =>
      (document?.tools ?? []).map((tool) => cassetteTool(entry.name, tool, send, lateMs)),
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));

const cassetteTool = (cassette: string, tool: ToolDeclaration, send: SendRequest, lateMs: number): McpTool => ({
  name: tool.full_name,
  title: tool.title,
  description: tool.description,
  inputSchema: tool.inputSchema,
  outputSchema: tool.outputSchema,
  annotations: tool.annotations,
  async call(args, { signal }) {
    const request = {
      cassette,
      path: tool.path,
      what: `call ${tool.full_name}`,
      init: {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(args),
      },
    };
    const answer = await cassetteAnswer(request, { send, signal, lateMs });
    return { text: answer.bytes.toString('utf8'), structured: jsonObject(answer, request) };
  },
});
