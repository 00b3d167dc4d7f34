/** `svc cassette run`: the operations of an admitted cassette as commands, with their inputs as arguments and options. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { OpenApi } from '../../cassette/openapi/openapi-shape.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { isObject, parseJson } from '../../parse-json.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { copyBody, printJson } from '../print-response.ts';
import { bodyText } from '../response-body.ts';
import { plain } from '../units.ts';
import { kebab, type Operation, type OperationInput, operationsOf } from './operations.ts';

/**
 * @param words the operation and its arguments; none: help is printed, which lists the operations
 * @throws {OperatorError} there is no such cassette, or it refuses
 * @throws {CommanderError} help, or wrong usage
 */
export async function runOperation(
  name: string,
  words: readonly string[],
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const path = `/v1/cassettes/${encodeURIComponent(name)}/openapi.json`;
  const document = await api.json<OpenApi>({ path, what: `read what the cassette '${plain(name)}' can do` });
  const program = new Command(`svc cassette run ${name}`)
    .description(`operations of the cassette '${plain(name)}' in the service at ${api.address}`)
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError('(--help tells what there is)');
  const operations = operationsOf(document);
  for (const operation of operations) addOperation(program, operation, { api, io });
  const [first, ...others] = words;
  if (first === undefined) return program.help(); // throws
  const named = operations.find(({ operation_id }) => operation_id === first); // as the document spells it
  await program.parseAsync([named?.name ?? first, ...others], { from: 'user' });
}

type Deps = { api: ApiClient; io: Io };

function addOperation(program: Command, operation: Operation, deps: Deps): void {
  if (program.commands.some((command) => command.name() === operation.name)) return; // two are called alike: the first counts
  const command = program
    .command(operation.name)
    .description(plain(operation.summary))
    .copyInheritedSettings(program)
    .exitOverride();
  const inPath = operation.inputs.filter((input) => input.in === 'path');
  const options = operation.inputs
    .filter((input) => input.in !== 'path')
    .map((input) => ({ input, option: optionFor(input, operation) }));
  for (const { name, description } of inPath) command.argument(`<${name}>`, plain(description));
  for (const { option } of options) command.addOption(option);
  if (operation.body !== 'none') command.option('--body <file>', "the whole body from a file, '-' for standard input");
  command.action(async (...called: unknown[]) => {
    const parsed = called[inPath.length] as Record<string, unknown>;
    const values = new Map<OperationInput, unknown>(inPath.map((input, i) => [input, called[i]]));
    for (const { input, option } of options) {
      const value = parsed[option.attributeName()];
      if (value !== undefined) values.set(input, value);
    }
    await call(operation, { values, body: typeof parsed.body === 'string' ? parsed.body : null }, deps);
  });
}

const RESERVED = ['body', 'help'];

function optionFor(input: OperationInput, { inputs }: Operation): Option {
  const twice = inputs.some(
    (other) => other !== input && other.in !== 'path' && kebab(other.name) === kebab(input.name),
  );
  const own = twice || RESERVED.includes(kebab(input.name)) ? `${input.in}-${kebab(input.name)}` : kebab(input.name);
  const value = input.type === 'boolean' ? '[true|false]' : `<${input.type === 'list' ? 'text' : input.type}>`;
  const notes = [
    plain(input.description),
    ...(input.choices.length > 0 ? [`(${input.choices.map(plain).join(', ')})`] : []),
    ...(input.type === 'list' ? ['(may stand several times)'] : []),
    ...(input.required ? ['(required)'] : []),
  ];
  return new Option(`--${own} ${value}`, notes.filter(Boolean).join(' ')).argParser((word: string, before: unknown) =>
    input.type === 'list' ? [...(Array.isArray(before) ? before : []), word] : valueFrom(word, input.type),
  );
}

function valueFrom(word: string, type: OperationInput['type']): unknown {
  switch (type) {
    case 'number':
      if (word.trim() === '' || Number.isNaN(Number(word))) throw new InvalidArgumentError('It must be a number.');
      return Number(word);
    case 'boolean':
      if (word !== 'true' && word !== 'false') throw new InvalidArgumentError('It must be true or false.');
      return word === 'true';
    case 'json':
      try {
        return parseJson(word);
      } catch {
        throw new InvalidArgumentError('It must be JSON.');
      }
    default:
      return word;
  }
}

type Called = { values: ReadonlyMap<OperationInput, unknown>; body: string | null };

async function call({ method, path, inputs, body: kind }: Operation, called: Called, { api, io }: Deps): Promise<void> {
  const of = (place: OperationInput['in']) => [...called.values].filter(([input]) => input.in === place);
  const missing = inputs.filter(
    (input) => input.required && !called.values.has(input) && !(input.in === 'body' && called.body !== null),
  );
  if (missing.length > 0)
    throw new OperatorError(
      `Cannot call it: ${missing.map(({ name }) => `'${plain(name)}'`).join(' and ')} must be set`,
      2,
    );
  const query = new URLSearchParams();
  for (const [{ name }, value] of of('query'))
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, textOf(one));
  const place = of('path').reduce(
    (whole, [{ name }, value]) => whole.replace(`{${name}}`, encodeURIComponent(textOf(value))),
    path,
  );
  const members = of('body').map(([{ name }, value]) => [name, value] as const);
  const response = await api.response({
    ...{ method: method.toUpperCase(), path: query.size === 0 ? place : `${place}?${query}` },
    ...((members.length > 0 || called.body !== null || kind === 'json') && {
      body: { ...(await bodyFrom(called.body)), ...Object.fromEntries(members) },
    }),
    headers: { accept: '*/*', ...Object.fromEntries(of('header').map(([{ name }, value]) => [name, textOf(value)])) },
    what: WHAT,
    timeoutMs: LATE_MS,
  });
  if (!/json/.test(response.headers['content-type'] ?? '') || /ndjson/.test(response.headers['content-type'] ?? ''))
    return copyBody(response, io, WHAT);
  printJson(parseJson(await bodyText(response, WHAT)), io);
}

const WHAT = 'call the cassette';

/** The service itself gives a cassette two minutes. */
const LATE_MS = 120_000;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

async function bodyFrom(file: string | null): Promise<Record<string, unknown>> {
  if (file === null) return {};
  const json = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  try {
    const body = parseJson(json);
    if (isObject(body)) return body;
  } catch {}
  throw new OperatorError(`Cannot call it: the body in '${plain(file)}' is no JSON object`, 2);
}
