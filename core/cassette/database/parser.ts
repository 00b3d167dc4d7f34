/** PostgreSQL's own parser, compiled to WebAssembly, loaded when it is first needed. Runs in the parser thread only. (parser-thread.ts) */
import type { ParseResult } from 'libpg-query';
import { refused, TOO_DEEP } from './statement-refusals.ts';

/** The part of Emscripten's module that is used here; `libpg-query`'s own wrapper cannot be restarted. */
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

/** Loads the parser in advance, so that the first text need not wait for it. */
export const loadParser = async (): Promise<void> => void (await loaded());

/** The statements, with locations as byte offsets into the text in UTF-8. @throws {DatabaseError} 42601 or a refusal */
export async function parsed(text: string): Promise<ParseResult> {
  if (text.includes('\0')) throw refused('its text holds a NUL'); // the parser would stop at it
  let output: { tree: string } | { error: string };
  try {
    output = run(await loaded(), text);
  } catch {
    engine = undefined; // a trap leaves the module broken
    throw refused(TOO_DEEP);
  }
  if ('error' in output) throw refused(output.error, '42601');
  return JSON.parse(output.tree) as ParseResult;
}

function run(parser: Engine, text: string): { tree: string } | { error: string } {
  const size = parser.lengthBytesUTF8(text) + 1;
  const at = parser._malloc(size);
  parser.stringToUTF8(text, at, size);
  const result = parser._wasm_parse_query_raw(at); // { tree, stderr, error } as pointers; an error begins with its message
  const error = parser.getValue(result + 8, 'i32');
  const output = error
    ? { error: parser.UTF8ToString(parser.getValue(error, 'i32')) }
    : { tree: parser.UTF8ToString(parser.getValue(result, 'i32')) };
  parser._free(at);
  parser._wasm_free_parse_result(result);
  return output;
}
