/** The places of a call in which credentials occur, each with a secret of its own, so that a leak shows where it came from. */
import { ANSWER_PLACES } from './planted/answers.ts';
import { INGEST_PLACES } from './planted/ingest.ts';
import type { Place, Planting } from './planted/planting.ts';
import { REQUEST_PLACES } from './planted/requests.ts';

export type Credential = { where: string; place: Place; line: string; secret: string };

/** A word of a call that is stored. A search that finds no secret has to find this one; otherwise it looked in the wrong place. */
export const KEPT_WORD = 'kept-4711';

const SETTINGS: readonly Planting[] = [
  ['settings', 'a forward proxy’s password in the environment', (secret) => `http://dana:${secret}@`],
];

/** Put together here, so that no scanner of repositories finds one. */
export const CREDENTIALS: readonly Credential[] = [
  ...REQUEST_PLACES,
  ...ANSWER_PLACES,
  ...INGEST_PLACES,
  ...SETTINGS,
].map(([place, where, lineOf], n) => {
  const secret = `Zq${String(n).padStart(3, '0')}x7LkRtVbNcYpWs${'JdHfGaTuE'}`;
  return { where, place, line: lineOf(secret), secret };
});

export const linesAt = (place: Place): string[] =>
  CREDENTIALS.flatMap((credential) => (credential.place === place ? [credential.line] : []));

const basic = (secret: string) => Buffer.from(`dana:${secret}`).toString('base64');

/** The secrets that occur in these bytes, unchanged, in base64, or in hex. */
export function leaksIn(bytes: Buffer): string[] {
  const text = bytes.toString('latin1');
  return CREDENTIALS.flatMap(({ where, secret }) =>
    [secret, basic(secret), Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')].some((form) =>
      text.includes(form),
    )
      ? [where]
      : [],
  );
}
