/** The envelope in the `session` of a body of the ingest API, and the errors of such a body, in words that quote nothing. */
import type { Envelope } from '../../capture/envelope.ts';
import { membersOf, type ValueRange } from '../../capture/json-members.ts';
import { afterValue, bufferOf } from '../../capture/json-scan.ts';
import { storable } from '../../derive/storable.ts';
import { hasControlCharacter } from '../../model/headers.ts';
import { type Fields, fields, isFields, text } from '../../provider/json.ts';
import { redactJson } from '../../redaction/json.ts';
import { redactText } from '../../redaction/text.ts';

/** What a proxy reads from the headers of an envelope, here from the sender's body. */
export const labelsOf = (session: Fields): Omit<Envelope, 'agent_name' | 'project' | 'auth_subject'> => ({
  harness_id: id(session.harness_id) || 'unknown',
  harness_session_id: id(session.harness_session_id),
  harness_version: redactText(label(session.harness_version)),
  cwd: redactText(label(session.cwd)),
  session_name: redactText(label(session.name)),
  parent_harness_session_id: id(session.parent_harness_session_id) || null,
  harness_metadata: isFields(session.harness_metadata) ? fields(redactJson(session.harness_metadata)) : null,
});

/** As the database returns it: otherwise a session would be named after an id that is not stored. `identityOf` bounds its length. */
export const id = (input: unknown): string => storable(text(input).trim());

/** A label, no longer than a header could carry it; '' when it has a control character, as for headers. */
export const label = (input: unknown): string => {
  const value = text(input);
  return hasControlCharacter(value) ? '' : storable(value.slice(0, MAX_LABEL));
};

const MAX_LABEL = 4096;

/** Whether the value in that range has more levels than `mostDepth`. */
export const isTooDeep = (body: Uint8Array, range: ValueRange | undefined, mostDepth: number): boolean =>
  range !== undefined && afterValue(bufferOf(body), range.start, mostDepth) === -1;

/** Deeper metadata would overflow the stack of the code that hashes and stores it later. */
const DEEPEST_METADATA = 32;

/** Whether the session's metadata is nested too deep to be stored apart from the body. @param session its range in the body */
export const tooDeepMetadata = (body: Uint8Array, session: ValueRange | undefined): boolean =>
  isTooDeep(body, metadataIn(body, session), DEEPEST_METADATA);

/** The range of the session's metadata in the body. */
function metadataIn(body: Uint8Array, session: ValueRange | undefined): ValueRange | undefined {
  const inner = session && membersOf(body.subarray(session.start, session.end))?.get('harness_metadata');
  return inner && { start: session.start + inner.start, end: session.start + inner.end };
}

/** The first error, by the name of its field: the schema's own message may quote the value. */
export function faultOf({ issues: [issue] }: { issues: readonly Issue[] }): string {
  if (issue?.errors) return faultOf({ issues: nearest(issue.path, issue.errors) });
  const name = issue?.path.map(String).join('.') || 'it';
  if (issue?.code === 'too_small') return issue.origin === 'string' ? `${name} is empty` : `${name} is too small`;
  if (issue?.code === 'too_big') return `${name} is too large`;
  if (issue?.expected === 'nonoptional') return `${name} is missing`;
  if (issue?.format === 'regex') return `${name} is malformed`;
  return `${name} is no ${KINDS[issue?.expected ?? issue?.format ?? ''] ?? 'UUID'}`;
}

/** Of what may have several forms, the faults in the form that it comes nearest to. */
function nearest(path: PropertyKey[], forms: readonly (readonly Issue[])[]): Issue[] {
  const issues = forms.reduce((best, form) => (form.length <= best.length ? form : best));
  return issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

/** `errors`: of each form that it may have. */
type Issue = {
  code: string;
  path: PropertyKey[];
  expected?: string;
  format?: string;
  origin?: string;
  errors?: readonly (readonly Issue[])[];
};
const KINDS: Record<string, string> = {
  string: 'string',
  boolean: 'boolean',
  object: 'object',
  record: 'object',
  array: 'array',
  int: 'whole number',
  number: 'whole number',
  safeint: 'whole number',
  base64: 'base64',
};
