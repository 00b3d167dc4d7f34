/** The interface of a format of the scripted provider: it parses a request, and frames the script's answer. The script knows no format. */
import { createHash } from 'node:crypto';

export type ScriptedRequest = {
  question: string; // the last text of a person; '' when there is none
  answered: boolean; // it has the result of a tool
  stream: boolean;
  earlier: string[]; // questions that the provider remembers and the request does not repeat
};

export type ScriptedLine = { says: string; callsTool: boolean };

/** `stream`: the same answer in the pieces of a stream. */
export type Answer = { document: unknown; stream: string[] };

/** A status and a document in the provider's own shape. */
export type Refused = { status: number; document: unknown };

/** `busy` is temporary, `refused` and `overloaded` are not. */
export type Mishap = 'busy' | 'refused' | 'overloaded';

export type Format = {
  path: RegExp;
  streamType: string;
  parseRequest(body: unknown): ScriptedRequest;
  /** Ids in the answer are made of `id`, so that no two answers share one. */
  answer(body: unknown, line: ScriptedLine, id: string): Answer;
  mishaps: Record<Mishap, Refused>;
  /** A refusal that the script does not cause: the provider does not have the response that the request continues. */
  refusal?(body: unknown): Refused | null;
};

export const weather = { city: 'Oslo', unit: 'C' };

/** An id computed from the request bytes, so that a direct call and one through the proxy get equal ids. */
export const idOf = (received: string): string => createHash('sha256').update(received).digest('hex').slice(0, 24);

/** A text as a model streams it. */
export const tokensOf = (text: string): string[] => text.match(/[\s\S]{1,7}/g) ?? [];

/** The words in a message's content, be it a text or blocks. */
export const wordsIn = (content: unknown): string => {
  if (typeof content === 'string') return content;
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [];
  return blocks.flatMap(({ text }) => text ?? []).join('\n');
};
