/**
 * The sentence of a refusal that is in no shape of its call's format: whoever stands before a provider (a gateway, a proxy, a load balancer)
 * refuses calls in its own words, as JSON, as plain text or as a page.
 */
import { isUtf8 } from 'node:buffer';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { contentCoding } from '../model/headers.ts';
import type { Reply } from '../model/reply.ts';
import { type Fields, isFields, parsed, text } from '../provider/json.ts';
import type { AnswerBytes } from './read-answer.ts';

/** A longer one is no refusal. */
const MOST_BYTES = 262_144;
/** Of a plain text, which may be a whole log. */
const MOST_CHARACTERS = 500;

/** The answer to a call that failed, which its format cannot read; null when it says nothing. */
export function refusalIn(answer: AnswerBytes): Reply | null {
  const error = errorIn(answerText(answer));
  if (error === null) return null;
  return {
    ...{ content: [], model: '', response_id: '', stop_reason: '', usage: null, usage_verbatim: null },
    ...{ complete: true, error },
  };
}

function answerText({ bytes, headers }: AnswerBytes): string {
  if (bytes.byteLength === 0) return '';
  try {
    const body = decodeBodySync(bytes, contentCoding(headers), MOST_BYTES).bytes;
    return body.byteLength <= MOST_BYTES && isUtf8(body) ? Buffer.from(body).toString('utf8').trim() : '';
  } catch (error) {
    if (error instanceof Undecodable) return '';
    throw error;
  }
}

function errorIn(answer: string): Reply['error'] {
  if (answer === '') return null;
  const [document] = [parsed(answer)].flat();
  if (document !== undefined) return errorOf(document);
  const sentence = answer.startsWith('<') ? titleOf(answer) : answer.slice(0, MOST_CHARACTERS);
  return sentence === '' ? null : { type: '', message: sentence };
}

/** As frameworks and gateways write them: `{error}`, `{message}`, `{detail}`, `{errors: [{message}]}`, each a text or an object with one. */
function errorOf(document: unknown): Reply['error'] {
  if (typeof document === 'string') return document === '' ? null : { type: '', message: document };
  if (!isFields(document)) return null;
  const type = typeIn(document) || (isFields(document.error) ? typeIn(document.error) : '');
  const message = MEMBERS.map((name) => sentenceIn(document[name])).find((one) => one !== '') ?? '';
  return message === '' ? null : { type, message };
}

const MEMBERS = ['error', 'message', 'Message', 'detail', 'details', 'errors', 'error_description', 'msg', 'title'];

const typeIn = ({ type, status, code }: Fields): string =>
  text(type) === 'error' ? '' : text(type) || text(status) || text(code);

function sentenceIn(value: unknown): string {
  const [first] = [value].flat();
  return typeof first === 'string'
    ? first
    : isFields(first)
      ? text(first.message) || text(first.msg) || text(first.detail)
      : '';
}

const titleOf = (page: string): string => /<title[^<>]{0,100}>([^<]{1,500})</i.exec(page)?.[1]?.trim() ?? '';
