/** PostgreSQL's own parser, compiled to WebAssembly, loaded when it is first needed. Runs in the parser thread only. (parser-thread.ts) */
import type { ParseResult } from 'libpg-query';
import { refused, TOO_DEEP } from './refused.ts';

/** Of what Emscripten made of the parser; `libpg-query`'s own wrapper cannot be begun anew. */
type Engine = {
  _malloc(bytes: number): number;
  _free(at: number): void;
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, at: number, room: number): void;
  UTF8ToString(at: number): string;
  getValue(at: number, type: 'i32'): number;
  _wasm_parse_query_raw(text: number): number;
  _wasm_free_parse_result(result: number): void;
};

const ENGINE = 'libpg-query/wasm/libpg-query.js'; // without types of its own

let engine: Promise<Engine> | undefined;

const loaded = (): Promise<Engine> => {
  engine ??= import(ENGINE).then((module: { default: () => Promise<Engine> }) => module.default());
  return engine;
};

/** So that the first text need not wait for it. */
export const loadParser = async (): Promise<void> => void (await loaded());

/** The statements, with places as byte offsets into the text in UTF-8. @throws {DatabaseError} 42601 or a refusal */
export async function parsed(text: string): Promise<ParseResult> {
  if (text.includes('\0')) throw refused('its text holds a NUL'); // the parser would see only what stands before it
  let answer: { tree: string } | { error: string };
  try {
    answer = run(await loaded(), text);
  } catch {
    engine = undefined; // a trap leaves it broken
    throw refused(TOO_DEEP);
  }
  if ('error' in answer) throw refused(answer.error, '42601');
  return JSON.parse(answer.tree) as ParseResult;
}

function run(on: Engine, text: string): { tree: string } | { error: string } {
  const room = on.lengthBytesUTF8(text) + 1;
  const at = on._malloc(room);
  on.stringToUTF8(text, at, room);
  const result = on._wasm_parse_query_raw(at); // { tree, stderr, error } as pointers; an error begins with its message
  const error = on.getValue(result + 8, 'i32');
  const answer = error
    ? { error: on.UTF8ToString(on.getValue(error, 'i32')) }
    : { tree: on.UTF8ToString(on.getValue(result, 'i32')) };
  on._free(at);
  on._wasm_free_parse_result(result);
  return answer;
}
