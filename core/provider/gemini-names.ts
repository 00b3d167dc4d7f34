/** The members of Google's JSON: the API takes each name in camel case and in snake case, and a single object in place of a list. */
import { type Fields, isFields } from './json.ts';

/** The member of a name in camel case, in whichever spelling it came; undefined: in neither. */
export const named = (from: Fields, camel: string): unknown =>
  from[camel] ?? from[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

/** A repeated field, in place of whose list the API takes a single object too, as JSON of Protocol Buffers. */
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : isFields(value) ? [value] : []);
