/** Which tools do cassettes add? Each is one of its operations, asked by POST with the arguments as they were given. */
import { aborted } from '../../aborted.ts';
import type { Installed } from '../../cassette/installed.ts';
import type { ToolDeclaration } from '../../cassette/tool-declarations.ts';
import { Refusal } from '../../errors.ts';
import { parseJson } from '../../parse-json.ts';
import type { McpTool, ToolOutput } from './tool.ts';

const LATE_MS = 30_000;
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ERROR_BYTES = 4096;

/** @throws {Refusal} it could not be asked */
type Ask = (name: string, request: Request) => Promise<Response>;

/** Of those that are in, by their names. @param lateMs until an answer is there whole */
export const cassetteTools = (installed: readonly Installed[], ask: Ask, lateMs = LATE_MS): McpTool[] =>
  installed
    .filter(({ state }) => state === 'admitted' || state === 'stale')
    .flatMap(({ entry, document }) =>
      (document?.tools ?? []).map((tool) => cassetteTool(entry.name, tool, ask, lateMs)),
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));

const cassetteTool = (cassette: string, tool: ToolDeclaration, ask: Ask, lateMs: number): McpTool => ({
  name: tool.full_name,
  title: tool.title,
  description: tool.description,
  inputSchema: tool.inputSchema,
  outputSchema: tool.outputSchema,
  annotations: tool.annotations,
  async call(args, { signal }) {
    const late = AbortSignal.timeout(lateMs);
    const over = AbortSignal.any([signal, late]);
    const ended = aborted(over);
    ended.catch(() => {}); // it comes when nobody waits any more
    try {
      return await Promise.race([answerOf(cassette, tool, args, ask, over), ended]);
    } catch (error) {
      const why = late.aborted
        ? `${cassette} did not answer within ${lateMs / 1000} s`
        : signal.aborted
          ? 'the caller left'
          : error instanceof Refusal
            ? error.message.replace(/^Cannot answer: /, '')
            : `the answer of ${cassette} broke off`;
      throw new Refusal('cassette-broken', `Cannot call ${tool.full_name}: ${why}`);
    }
  },
});

/** @throws {Refusal} whose message is what it did instead */
async function answerOf(
  cassette: string,
  { path }: ToolDeclaration,
  args: Record<string, unknown>,
  ask: Ask,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const request = new Request(`http://cassette${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(args),
    signal,
  });
  const answered = (how: string) => new Refusal('cassette-broken', `${cassette} answered ${how}`);
  const response = await ask(cassette, request);
  if (!response.ok) throw answered(`${response.status}${await saidOf(response)}`);
  const text = await wholeText(response);
  if (text === null) throw answered(`with more than ${MOST_BYTES / 1024 / 1024} MiB`);
  const structured = parsed(text);
  if (structured === undefined) throw answered('with what is no JSON');
  if (typeof structured !== 'object' || structured === null || Array.isArray(structured))
    throw answered('with JSON that is no object');
  return { text, structured: structured as Record<string, unknown> };
}

const parsed = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
};

/** null: it is longer than it may be. */
async function wholeText(response: Response): Promise<string | null> {
  const { bytes, more } = await firstBytes(response, MOST_BYTES);
  return more ? null : bytes.toString('utf8');
}

async function saidOf(response: Response): Promise<string> {
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
    if (length > most) break; // which cancels the rest
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), more: length > most };
}
