/** JSON as people write it in settings files: with comments, and with a comma after the last member. */
import { parseJson } from '../../../parse-json.ts';

/** What looks like a comment within a string is none, as in 'https://'. One that does not end goes on to the end, so that none is read twice. */
const COMMENTS = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
const LAST_COMMAS = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|,(?=\s*[}\]])/g;

/**
 * As `parseJson`, of such a text.
 * @throws {SyntaxError} it is still no JSON
 * @example
 * parseJsonWithComments('{ "a": "//b", } // c'); // => { a: '//b' }
 */
export const parseJsonWithComments = (text: string): unknown =>
  parseJson(text.replace(COMMENTS, stringOrSpace).replace(LAST_COMMAS, stringOrSpace));

const stringOrSpace = (found: string) => (found.startsWith('"') || isOpen(found) ? found : ' ');

/** A comment that does not end. */
const isOpen = (found: string) => found.startsWith('/*') && (found.length < 4 || !found.endsWith('*/'));
