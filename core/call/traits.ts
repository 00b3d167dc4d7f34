/** The traits of a request that show its purpose. Each is looked up only when it is needed, so that a long history costs nothing. */
import { parseElement } from '../capture/slices.ts';
import type { CallTraits } from '../harness/harness.ts';
import { textOf } from '../harness/message-text.ts';
import type { Message } from '../model/bucket.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { fields, text } from '../provider/json.ts';

/** A parsed request. `system` are the elements of the section of that name, which some formats have; `read` parses a message. */
export type ParsedRequest<T extends { slice_id: string }> = {
  format: WireFormat;
  skeleton: Record<string, unknown>;
  system: readonly { slice_id: string; bytes: Uint8Array }[];
  messages: readonly T[];
  read(message: T): Message;
};

/** A cache of texts; the key names what a text was made of. */
export type KnownTexts = { get(key: string): string | undefined; set(key: string, text: string): unknown };

/** The traits of a request that could not be read. */
export const noTraits: Pick<CallTraits, 'system' | 'first' | 'last'> = {
  system: () => '',
  first: () => null,
  last: () => null,
};

/** At either end of a conversation no more system messages in a row than this are skipped. */
const SYSTEM_RUN = 16;

/** @param known texts of earlier requests: a conversation repeats its system prompt with each call */
export function traitsOf<T extends { slice_id: string }>(
  { format, skeleton, system, messages, read }: ParsedRequest<T>,
  known: KnownTexts,
): Pick<CallTraits, 'system' | 'first' | 'last'> {
  const isSystem = (message: T) => read(message).role === 'system';
  const leading = once(() => {
    const run = messages.slice(0, SYSTEM_RUN);
    const end = run.findIndex((message) => !isSystem(message));
    return end < 0 ? run : run.slice(0, end);
  });
  const lastAt = once(() => {
    const from = Math.max(0, messages.length - SYSTEM_RUN);
    return from + messages.slice(from).findLastIndex((message) => !isSystem(message));
  });
  const at = (index: number) => {
    const message = messages[index];
    return message ? read(message) : null;
  };
  const repeated = () => {
    const key = [format.id, ...system, ...leading()].map((part) => (typeof part === 'string' ? part : part.slice_id));
    const text =
      known.get(key.join(' ')) ??
      [
        ...system.map(({ bytes }) => elementText(bytes)),
        ...leading().map((message) => textOf(read(message).content)),
      ].join('\n');
    known.set(key.join(' '), text);
    return text;
  };
  return {
    system: once(() => [...format.systemPrompts(skeleton).map(systemText), repeated()].join('\n').trim()),
    first: () => at(leading().length),
    last: (back = 0) => at(lastAt() - back),
  };
}

/** The text of a system prompt, which is a string or blocks of text. */
function systemText(prompt: unknown): string {
  if (typeof prompt === 'string') return prompt;
  return Array.isArray(prompt) ? prompt.map((block) => text(fields(block).text)).join('\n') : '';
}

function elementText(bytes: Uint8Array): string {
  try {
    return text(fields(parseElement(bytes)).text);
  } catch (error) {
    if (error instanceof Unreadable) return '';
    throw error;
  }
}

function once<T>(make: () => T): () => T {
  let memo: { value: T } | null = null;
  return () => {
    memo ??= { value: make() };
    return memo.value;
  };
}
