/** How does the shell's provider answer Gemini's requests? With a call of the client's shell, then with what that printed. */
import type { ServerResponse } from 'node:http';

/** This client refuses a command with `$(` in it. */
export const COMMAND = `awk 'BEGIN { print "made of " 6 * 7 }'`;

type Part = { text?: string; functionCall?: object; functionResponse?: { response?: unknown } };
export type GeminiRequest = { contents?: { role?: string; parts?: Part[] }[]; tools?: unknown[] };

/** The two paths of a turn, streamed and in one piece; null: another path. */
export const geminiMethod = (path: string): 'generateContent' | 'streamGenerateContent' | null =>
  (/\/models\/[^/]+:(generateContent|streamGenerateContent)$/.exec(path)?.[1] as 'generateContent' | undefined) ?? null;

/** @param answerOf what is said of the text of a result; null: the shell has not been asked yet */
export function geminiAnswer(
  response: ServerResponse,
  { contents = [], tools = [] }: GeminiRequest,
  { stream, id, answerOf }: { stream: boolean; id: string; answerOf: (result: unknown) => string | null },
): void {
  const results = contents.at(-1)?.parts?.filter(({ functionResponse }) => functionResponse !== undefined) ?? [];
  const text = results.length > 0 ? answerOf(results) : null;
  const call = { functionCall: { name: 'run_shell_command', args: { command: COMMAND, description: 'Multiply' } } };
  const part = text !== null ? { text } : tools.length > 0 ? call : { text: '{}' };
  const document = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    ...{ modelVersion: 'gemini-2.5-flash', responseId: id },
  };
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json; charset=UTF-8' });
  response.end(stream ? `data: ${JSON.stringify(document)}\r\n\r\n` : JSON.stringify(document));
}
