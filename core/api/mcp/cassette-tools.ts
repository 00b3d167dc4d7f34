/** The tools of cassettes: each is one of a cassette's operations, called by POST with the arguments as they came. */
import { aborted } from '../../aborted.ts';
import type { Installed } from '../../cassette/installed.ts';
import type { ToolDeclaration } from '../../cassette/openapi/tool-declarations.ts';
import { Refusal } from '../../errors.ts';
import { isObject, parseJson } from '../../parse-json.ts';
import type { McpTool, ToolOutput } from './tool.ts';

const LATE_MS = 30_000;
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ERROR_BYTES = 4096;

/** @throws {Refusal} the cassette could not be called */
type SendRequest = (name: string, request: Request) => Promise<Response>;

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
    const timeout = AbortSignal.timeout(lateMs);
    const stopSignal = AbortSignal.any([signal, timeout]);
    const ended = aborted(stopSignal);
    ended.catch(() => {}); // it may reject when nobody waits any more
    try {
      return await Promise.race([resultOf(cassette, tool, args, send, stopSignal), ended]);
    } catch (error) {
      const reason = timeout.aborted
        ? `${cassette} did not answer within ${lateMs / 1000} s`
        : signal.aborted
          ? 'the caller left'
          : error instanceof Refusal
            ? error.message.replace(/^Cannot answer: /, '')
            : `the answer of ${cassette} broke off`;
      throw new Refusal('cassette-broken', `Cannot call ${tool.full_name}: ${reason}`);
    }
  },
});

/** @throws {Refusal} its message says what is wrong with the response */
async function resultOf(
  cassette: string,
  { path }: ToolDeclaration,
  args: Record<string, unknown>,
  send: SendRequest,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const request = new Request(`http://cassette${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(args),
    signal,
  });
  const badResponse = (problem: string) => new Refusal('cassette-broken', `${cassette} answered ${problem}`);
  const response = await send(cassette, request);
  if (!response.ok) throw badResponse(`${response.status}${await errorText(response)}`);
  const text = await wholeText(response);
  if (text === null) throw badResponse(`with more than ${MOST_BYTES / 1024 / 1024} MiB`);
  const structured = parsed(text);
  if (structured === undefined) throw badResponse('with what is no JSON');
  if (!isObject(structured)) throw badResponse('with JSON that is no object');
  return { text, structured };
}

const parsed = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
};

/** null: the body exceeds the limit. */
async function wholeText(response: Response): Promise<string | null> {
  const { bytes, more } = await firstBytes(response, MOST_BYTES);
  return more ? null : bytes.toString('utf8');
}

async function errorText(response: Response): Promise<string> {
  const { bytes } = await firstBytes(response, MOST_ERROR_BYTES);
  const text = new TextDecoder().decode(bytes, { stream: true }).trim(); // a character that was cut is left out
  return text === '' ? '' : `: ${text}`;
}

async function firstBytes({ body }: Response, most: number): Promise<{ bytes: Buffer; more: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > most) break; // cancels the rest
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), more: length > most };
}
