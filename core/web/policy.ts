/** The headers of the UI's documents and files: nothing inline, nothing from elsewhere, and no string that becomes HTML. */

const policy = (directives: readonly string[]): string => directives.join('; ');

/** `svc-worker` is the only policy that may make a trusted value: the address of the text worker. None can make HTML. */
const DOCUMENT_POLICY = policy([
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "font-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svc-worker',
]);

/** A worker has the policy of its own script: it may load parts of itself, and reach nothing. */
const FILE_POLICY = policy(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]);

export const DOCUMENT_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': DOCUMENT_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=()',
  'cache-control': 'no-cache', // it names the files of this build
} as const;

/** Of files whose name changes with their content. */
export const FILE_HEADERS = {
  'content-security-policy': FILE_POLICY,
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=31536000, immutable',
} as const;
