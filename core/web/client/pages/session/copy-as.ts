/** Commands to copy: a call again as curl, a conversation resumed in its harness, a session checked. */
import { RESUME_COMMANDS } from './resume-commands.ts';
import { quotedText, shellWord, type Variable } from './shell-word.ts';
import { type ProviderDefaults, upstreamOf } from './upstreams.ts';

/** What a command needs of a raw turn. */
export type ReplayedTurn = {
  raw_turn_id: number;
  provider?: string | undefined;
  method?: string | undefined;
  url?: string | undefined;
  headers: readonly (readonly [string, string])[];
};

/** Where the read API is, and whether it wants a token. `body`: the request's decoded text where it is at hand; else it is piped. */
export type ReplaySource = { api: string; needsToken: boolean; body?: string | null };

const REDACTED = '[redacted]';
const MAX_INLINE_BYTES = 8192;
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/; // RFC 9110 5.6.2; curl reads `@name` as a file
/** Text that a terminal shows as it is: no control, format or private character, no line break, no lone surrogate. */
const SHOWN = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** What curl writes itself, and codings: the body goes out decoded, and the answer comes readable. */
const OF_CURL = ['host', 'content-length', 'content-encoding', 'accept-encoding', 'expect'];
/** What curl would add where the client sent none. */
const ADDED_BY_CURL = ['accept', 'user-agent', 'content-type'];

/**
 * The call again, straight to its provider: headers in their order, credentials as variables.
 * null: its provider, method or address is not known, or it was no plain HTTP request.
 */
export function curlCommand(turn: ReplayedTurn, source: ReplaySource): string | null {
  const upstream = upstreamOf(turn.provider);
  const target = upstreamTarget(turn.url ?? '', turn.provider ?? '');
  const { method = '' } = turn;
  const isSocket = turn.headers.some(([name]) => name.toLowerCase() === 'sec-websocket-key');
  if (!upstream || target === null || !TOKEN.test(method) || isSocket) return null;
  const words = ['curl', '-sS', '-g', '--path-as-is', ...(method === 'POST' ? [] : ['-X', shellWord(method)])];
  words.push(addressWord(upstream, target));
  const headers = sentHeaders(turn.headers);
  for (const [name, value] of headers) words.push('-H', headerWord(name, value, upstream));
  if (method === 'GET' || method === 'HEAD') return words.join(' ');
  for (const name of ADDED_BY_CURL)
    if (!headers.some(([sent]) => sent.toLowerCase() === name)) words.push('-H', shellWord(`${name}:`));
  words.push('-H', 'Expect:');
  if (isInline(source.body)) return [...words, '--data-raw', quotedText(source.body)].join(' ');
  return `${bodyCommand(turn.raw_turn_id, source)} | ${[...words, '--data-binary', '@-'].join(' ')}`;
}

function bodyCommand(raw_turn_id: number, { api, needsToken }: ReplaySource): string {
  const token = needsToken ? ` -H ${shellWord('authorization: Bearer ', { variable: 'SVC_API_TOKEN' })}` : '';
  return `curl -fsS${token} ${shellWord(`${api}/v1/raw_turns/${raw_turn_id}/request?as=decoded`)}`;
}

const isInline = (body: string | null | undefined): body is string =>
  typeof body === 'string' && SHOWN.test(body) && new TextEncoder().encode(body).length < MAX_INLINE_BYTES;

/** What the proxy sent on: the target without the prefix by which a client names its provider. null: there is none. */
function upstreamTarget(url: string, provider: string): string | null {
  const target = originForm(url);
  const prefix = `/${provider}`;
  if (!target?.startsWith(prefix) || !/^(?:[/?]|$)/.test(target.slice(prefix.length))) return target;
  const rest = target.slice(prefix.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Path and query. An absolute address came from whoever sent the turn: its host must never receive a credential. */
function originForm(url: string): string | null {
  if (url.startsWith('/')) return url;
  try {
    const { pathname, search } = new URL(url);
    return pathname.startsWith('/') ? pathname + search : null;
  } catch {
    return null;
  }
}

/** What the client meant for its provider: end to end, and nothing that was for the proxy. */
function sentHeaders(headers: ReplayedTurn['headers']): ReplayedTurn['headers'] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim());
  const left = new Set([...HOP_BY_HOP, ...OF_CURL, ...named]);
  return headers.filter(([sent, value]) => {
    const name = sent.toLowerCase();
    if (!TOKEN.test(sent) || /[\0\r\n]/.test(value)) return false;
    return !left.has(name) && !name.startsWith('proxy-') && !name.startsWith('x-svc-') && !name.startsWith(':');
  });
}

function headerWord(name: string, value: string, { credentials }: ProviderDefaults): string {
  if (value === '') return shellWord(`${name};`); // as curl writes a header without a value
  const known = Object.hasOwn(credentials, name.toLowerCase()) ? credentials[name.toLowerCase()] : undefined;
  const scheme = value === REDACTED ? (known?.scheme ?? '') : '';
  return shellWord(`${name}: ${scheme}`, ...withVariables(value, known?.variable ?? ownVariable(name)));
}

function addressWord({ address, credentials }: ProviderDefaults, target: string): string {
  const parts = target.split(/(?<=[?&])/);
  return shellWord(
    address,
    ...parts.flatMap((part) => {
      const name = part.split('=', 1)[0] ?? '';
      const known = Object.hasOwn(credentials, name) ? credentials[name] : undefined;
      return withVariables(part, known?.variable ?? ownVariable(name));
    }),
  );
}

/** Each credential that was replaced before writing is a variable again. */
const withVariables = (text: string, variable: string): (string | Variable)[] =>
  text.split(REDACTED).flatMap((literal, i) => (i === 0 ? [literal] : [{ variable }, literal]));

/** A name that no other program's variable has, since the header's name was recorded and may be anything. */
const ownVariable = (name: string): string =>
  `REPLAY_${name
    .toUpperCase()
    .replace(/[^A-Z\d]+/g, '_')
    .slice(0, 60)}`;

/** Continues the conversation in its harness; null: it has no such command, or the id is not one. */
export function resumeCommand(harness_id: string, harness_session_id: string): string | null {
  const words = Object.hasOwn(RESUME_COMMANDS, harness_id) ? RESUME_COMMANDS[harness_id] : undefined;
  if (!words || !/^[\da-z][\w-]{7,63}$/i.test(harness_session_id)) return null;
  return [...words, harness_session_id].join(' ');
}

export const verifyCommand = (session_id: string): string => `svc verify ${shellWord(session_id)}`;
