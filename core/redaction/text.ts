/** Redacts credentials in a text of any kind: the value of a header, a line of a log, a piece of a URL. All other text keeps its bytes. */
import { isCredentialMember, isCredentialParameter } from './names.ts';
import { REDACTED, withoutKeys, withoutTokens } from './shapes.ts';

/** A name and password before a host: behind a scheme anywhere, or behind `//` where an address can begin. */
const USER_INFO =
  /((?<![a-z\d+.-])[a-z][a-z\d+.-]{0,30}:\/\/|(?<=^|[=\s'"<(,;[])\/\/)[^/?#\s'"<>@]*(?:@[^/?#\s'"<>@]*)*@/gi;
/** What stands between a name and its value, or in an address that has a password. */
const SIGN = /[=:@%\s]/;
/** A text that names a credential has one of these. */
const NAMES =
  /[@%]|a(?:uth|pi-?key|ssert)|basic|bearer|code|cookie|cred|csrf|dpop|hmac|jsession|jw[st]|key|negotiate|ntlm|otp|pa?ss|pin|pwd?|s(?:aml|as|ecret|essid|ig|plunk)|ticket|token|vk|xsrf/i;
/** A name and the sign behind it. The text is read once: a name begins only where no other continues, and is bounded. */
const ASSIGNMENT = /(?<![\w.%+[\]-])([\w.%+[\]-]{1,256})(\\{0,7}["']?[ \t]{0,3}[=:][ \t]{0,3})(\\{0,7}["'])?/g;
const BARE_END = /[\s&#<>"'`\\]|[,;](?=\s|$)/g;
/** Names whose value is several assignments, with blanks between them. */
const COOKIE = /cookie$/i;
/** Words and short numbers behind a colon are prose and counts. */
const NO_SECRET = /^(?:[a-z]*|\d{1,6})[^a-z\d]*$/i;

/** The text without its credentials, as far as these are recognised by shape or by the name that they are assigned to. */
export function redactText(text: string): string {
  const left = withoutKeys(text);
  return SIGN.test(left) && NAMES.test(left) ? withoutEncoded(withoutNamed(left)) : left;
}

const withoutNamed = (text: string): string =>
  withoutAssigned(withoutTokens(text.replace(USER_INFO, `$1${REDACTED}@`)));

function withoutAssigned(text: string): string {
  let redacted = '';
  let at = 0; // all before it is in `redacted`
  ASSIGNMENT.lastIndex = 0;
  for (let found = ASSIGNMENT.exec(text); found; found = ASSIGNMENT.exec(text)) {
    const [whole, name = '', sign = '', quote = ''] = found;
    const from = found.index + whole.length;
    if (!isNamed(text, found.index, name)) {
      ASSIGNMENT.lastIndex = found.index + name.length + sign.length; // what is quoted may hold assignments of its own
      continue;
    }
    if (text[from] === '(' || text[from] === '{') {
      ASSIGNMENT.lastIndex = from; // before its end is looked for: it may be far away, and the next one begins here
      continue;
    }
    const end =
      quote !== '' ? endOf(text, from, quote) : COOKIE.test(name) ? endOf(text, from, '\n') : endOfBare(text, from);
    const value = text.slice(from, end);
    const isSecret = value !== '' && value !== REDACTED;
    if (isSecret && (quote !== '' || sign.includes('=') || !NO_SECRET.test(value))) {
      redacted += text.slice(at, from) + REDACTED;
      at = end;
    }
    ASSIGNMENT.lastIndex = isSecret ? end : from;
    if (ASSIGNMENT.lastIndex === found.index) ASSIGNMENT.lastIndex++;
  }
  ASSIGNMENT.lastIndex = 0;
  return at === 0 ? text : redacted + text.slice(at);
}

/** Whether what is assigned to that name is a credential: short names count only in a query or a fragment. */
const isNamed = (text: string, index: number, name: string): boolean => {
  const plain = decoded(name);
  return /[?&#;]/.test(text.charAt(index - 1)) ? isCredentialParameter(plain) : isCredentialMember(plain);
};

function endOfBare(text: string, from: number): number {
  BARE_END.lastIndex = from;
  return BARE_END.exec(text)?.index ?? text.length;
}

function endOf(text: string, from: number, sign: string): number {
  const end = text.indexOf(sign, from);
  return end < 0 ? text.length : end;
}

const PIECES = /[^\s?&#;,<>"'`]+/g;
const MOST_TIMES = 4;

/** Redacts URLs inside a URL: a value that shows a credential only when it is decoded is replaced as a whole. "+" stands for a blank. */
function withoutEncoded(text: string): string {
  if (!/%[\da-f]{2}|[a-z]\+/i.test(text)) return text;
  return text.replace(PIECES, (piece) => {
    if (!/[%+]/.test(piece)) return piece;
    const equals = piece.indexOf('=');
    const value = piece.slice(equals + 1);
    return holdsCredential(value) ? `${piece.slice(0, equals + 1)}${REDACTED}` : piece;
  });
}

function holdsCredential(encoded: string): boolean {
  let text = encoded;
  for (let times = 0; times < MOST_TIMES; times++) {
    const plain = decoded(text);
    if (plain === text) return false;
    if (withoutKeys(plain) !== plain || withoutNamed(plain) !== plain) return true;
    text = plain;
  }
  return true; // no readable value is encoded so often
}

/** The text decoded as a query; if that fails as a whole, it is decoded escape by escape, as far as it is ASCII. */
export function decoded(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
}
