/** The envelope: what the `x-svc-*` headers of a wrapper or gateway state about a call's session. */

import { type HeaderList, hasControlCharacter, headerOf, wordOf } from '../model/headers.ts';
import { isObject, parseJson } from '../parse-json.ts';

/**
 * A field is '' or null when it was not sent or is malformed: a proxy refuses no call for its labels. `harness_id` is 'unknown' when
 * it was not sent. An organisation (`x-svc-auth-org-id`) is not read: one installation serves one.
 */
export type Envelope = {
  harness_id: string;
  harness_session_id: string;
  harness_version: string;
  cwd: string;
  session_name: string;
  parent_harness_session_id: string | null;
  harness_metadata: Record<string, unknown> | null;
  agent_name: string;
  project: string;
  auth_subject: string;
};

export const envelopeOf = (headers: HeaderList): Envelope => ({
  harness_id: wordOf(headers, 'x-svc-harness-id') || 'unknown',
  harness_session_id: wordOf(headers, 'x-svc-harness-session-id'),
  harness_version: wordOf(headers, 'x-svc-harness-version'),
  cwd: decodedText(headerOf(headers, 'x-svc-cwd')),
  session_name: decodedText(headerOf(headers, 'x-svc-session-name')),
  parent_harness_session_id: wordOf(headers, 'x-svc-parent-harness-session-id') || null,
  harness_metadata: decodedObject(wordOf(headers, 'x-svc-harness-metadata')),
  agent_name: wordOf(headers, 'x-svc-agent-name'),
  project: decodedText(headerOf(headers, 'x-svc-project')),
  auth_subject: wordOf(headers, 'x-svc-auth-subject'),
});

/**
 * Percent-decoded as a path segment, so `+` stays `+`. A value with malformed escapes stays as sent, which still identifies something;
 * a value with a control character becomes '', so that none is ever stored.
 */
function decodedText(value: string | null): string {
  const text = value === null ? '' : (percentDecoded(value) ?? value);
  return hasControlCharacter(text) ? '' : text;
}

function percentDecoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

/** base64url without padding, of a JSON object; null for anything else. */
function decodedObject(value: string): Record<string, unknown> | null {
  if (value === '' || !/^[\w-]+$/.test(value) || value.length % 4 === 1) return null;
  try {
    const object: unknown = parseJson(Buffer.from(value, 'base64url').toString('utf8'));
    return isObject(object) && isShallow(object) ? object : null;
  } catch {
    return null;
  }
}

/** Deeper metadata counts as malformed: the code that hashes and stores it recurses. */
const isShallow = (value: unknown, left = 32): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (left > 0 && Object.values(value).every((member) => isShallow(member, left - 1)));
