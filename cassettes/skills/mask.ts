/** Masks the secrets of a transcript: keys that are recognised by their shape, and what is assigned to a name that says so. */

export const MASKED = '[masked]';

/** Keys in the shapes that their issuers gave them. */
const KEYS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /\bsk-[A-Za-z0-9_-]{16}[A-Za-z0-9_-]*/g, // OpenAI, Anthropic and many that follow them
  /\b(?:gh[pousr]_[A-Za-z0-9]{20}[A-Za-z0-9]*|github_pat_\w{20}\w*)/g,
  /\bgl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{16}[\w-]*(?:\.[\w-]+)*/g, // GitLab
  /\b(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}\b/g, // AWS
  /\bABSK[A-Za-z0-9+/=]{40}[A-Za-z0-9+/=]*/g,
  /\bAIza[\w-]{30}[\w-]*/g, // Google
  /\bya29\.[\w-]{16}[\w-]*/g,
  /\bGOCSPX-[\w-]{16}[\w-]*/g,
  /\bxox[a-z]-[\w-]{10}[\w-]*/g, // Slack
  /\bxapp-[\w-]{10}[\w-]*/g,
  /\bhooks\.slack\.com\/(?:services|triggers|workflows)\/[\w/]+/g,
  /\bdiscord(?:app)?\.com\/api\/webhooks\/[\w/-]+/g,
  /\b(?:sk|rk|pk)_(?:live|test)_\w{10}\w*/g, // Stripe
  /\bwhsec_[\w+/=]{16}[\w+/=]*/g,
  /\bSG\.[\w-]{16}[\w-]*\.[\w-]{16}[\w-]*/g, // SendGrid
  /\bkey-[0-9a-f]{32}\b/g, // Mailgun
  /\b(?:AC|SK)[0-9a-f]{32}\b/g, // Twilio
  /\bnpm_[A-Za-z0-9]{30}[A-Za-z0-9]*/g,
  /\bpypi-[\w-]{30}[\w-]*/g,
  /\bhf_[A-Za-z0-9]{20}[A-Za-z0-9]*/g, // Hugging Face
  /\bdop_v1_[0-9a-f]{40}[0-9a-f]*/g, // DigitalOcean
  /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{20}[0-9a-fA-F]*/g, // Shopify
  /\b(?:hvb|hvr|hvs|s)\.[A-Za-z0-9_-]{24}[A-Za-z0-9_-]*/g, // Vault
  /\btskey-[\w-]{16}[\w-]*/g, // Tailscale
  /\blin_(?:api|oauth)_\w{20}\w*/g, // Linear
  /\bdapi[0-9a-f]{32}\b/g, // Databricks
  /\b[ps]k-lf-[\w-]{16}[\w-]*/g, // Langfuse
  /\blsv2_(?:pt|sk)_\w{20}\w*/g, // LangSmith
  /\b(?:gsk|xai|fw|pplx|r8|nvapi|dckr_pat|glsa|ATATT)[_-]?[A-Za-z0-9_-]{28}[A-Za-z0-9_-]*/g,
  /\b(?:tvly-|csk-|esecret_|voyage-|pa-|sbp_|rnd_|nfp_|vck_|AGE-SECRET-KEY-1)(?=[\w-]{0,80}\d)[\w-]{24}[\w-]*/g, // Tavily, Cerebras, Supabase and others
  /\b\d{8,10}:[A-Za-z0-9_-]{35}\b/g, // Telegram
  /(?<=\b(?:AccountKey|SharedAccessKey|sig)=)[A-Za-z0-9+/%=]{20}[A-Za-z0-9+/%=]*/g, // Azure
];

/** `scheme://user:password@host` */
const ADDRESS = /(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/'"]*:)[^\s@/'"]+(?=@)/gi;
/** `scheme://token@host`: a name that long is none. */
const TOKEN_ADDRESS = /(?<=\b[a-z][a-z0-9+.-]{0,30}:\/\/)[\w-]{20}[\w-]*(?=@)/gi;
/** `Authorization: Bearer …`; matched forwards from the name of the scheme, since a lookbehind at each of many blanks would be quadratic. */
const SCHEME = /(?<name>\b(?:bearer|basic|digest|token)\s+)(?=[a-z.~]*[\d+/=_-])[\w.~+/=-]{12}[\w.~+/=-]*/gi;
/** A JWT from its first full stop on: the part before it is checked once for each full stop. */
const JWT_REST = /\.(?<=(?<head>\beyJ[\w-]{8}[\w-]*)\.)[\w-]{8}[\w-]*(?:\.[\w-]*)?/g;

/**
 * A name and the value assigned to it, as in code, shells, YAML, JSON (also inside a JSON text) and headers. A name is matched once,
 * from the beginning of its run of characters.
 */
const ASSIGNMENT =
  /(?<![\w.-])(?<lead>[\d.-]*)(?<name>[A-Za-z_][\w.-]*)(?<sign>\\?["']?[^\S\n]{0,3}(?:=>|:=|[:=])[^\S\n]{0,3})(?:(?<quote>\\?["'`])(?<quoted>(?:(?!\k<quote>)[^\n]){4,4000})|(?![\w.-]{1,80}(?::\s|:$|=[^=\s]|[^\S\n]{1,3}(?::=|=>|[:=])\s))(?<bare>[^\s"'`,;(){}<>[\]\\|&]{4,4000}))/g;
/** `--password …` */
const FLAG =
  /(?<=--?(?:password|passwd|passphrase|token|secret|api-?key|access-?key|auth|credentials?)[ =]['"]?)[^\s'"-][^\s'"]{3}[^\s'"]*/gi;

const SECRET_NAME =
  /pass(?:wor[dt]|wd|phrase|code)|pwd$|secret|token$|credential|api[_.-]?key|(?:access|account|auth|client|deploy|encryption|master|private|service|session|shared|signing|storage|webhook)[_.-]?key|authorization|cookie|^auth$|(?:^|[_.-])(?:jwt|salt|seed|pin|otp|dsn)$/i;
/** Values in the place of a secret that are none. */
const NO_SECRET =
  /^(?:\$|process\.|os\.|env[.[(]|<|%|\*+$|x+$|\.\.\.|true$|false$|null$|none$|undefined$|string$|number$|boolean$|required$|optional$|your[_-]|example|placeholder|changeme|\[masked])/i;

/** The limit of a text in characters; of a longer one only beginning and end are read. Far more than a transcript keeps. */
const LONGEST = 262_144;

/**
 * The text with secrets replaced. Text that neither has the shape of a secret nor a name for one is kept: hashes of commits, ids and
 * paths are what a transcript is about. The time is linear in the length of the text, whatever it contains.
 */
export function masked(text: string): string {
  if (text.length <= LONGEST) return maskedWhole(text);
  const half = LONGEST / 2;
  const omission = `[… ${text.length - LONGEST} characters left out …]`;
  // half a key has no shape, so a word that the cut may have split is dropped
  const [begin, end] = [text.slice(0, half).replace(TORN_END, ''), text.slice(-half).replace(TORN_BEGIN, '')];
  return `${maskedWhole(begin)}\n${omission}\n${maskedWhole(end)}`;
}

const TORN_END = /(?<=\s)\S*$/;
const TORN_BEGIN = /^\S*/;

function maskedWhole(text: string): string {
  let result = text;
  for (const key of KEYS) result = result.replace(key, MASKED);
  result = withoutJwts(result)
    .replace(ADDRESS, MASKED)
    .replace(TOKEN_ADDRESS, MASKED)
    .replace(SCHEME, `$<name>${MASKED}`)
    .replace(FLAG, MASKED);
  return withoutAssigned(result);
}

function withoutJwts(text: string): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { 0: rest, index, groups } of text.matchAll(JWT_REST)) {
    pieces.push(text.slice(at, Math.max(at, index - (groups?.head?.length ?? 0))), MASKED);
    at = index + rest.length;
  }
  return at === 0 ? text : pieces.join('') + text.slice(at);
}

const DEEPEST = 8;

function withoutAssigned(text: string, depth = 0): string {
  return text.replace(ASSIGNMENT, (_whole: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Record<'lead' | 'name' | 'sign', string> & {
      quote?: string;
      quoted?: string;
      bare?: string;
    };
    const { lead, name, sign, quote = '', quoted, bare } = groups;
    const value = quoted ?? bare ?? '';
    const secret = depth > DEEPEST || (!NO_SECRET.test(value) && (SECRET_NAME.test(name) || isRandom(value)));
    return `${lead}${name}${sign}${quote}${secret ? MASKED : withoutAssigned(value, depth + 1)}`; // a command in quotes may contain assignments
  });
}

const RANDOM_CHARACTERS = 20;
const RANDOM_BITS = 3.8; // for each character; words and paths of that length have less

/** Whether a value looks random: long, with characters of all kinds, and with high entropy. */
function isRandom(value: string): boolean {
  if (value.length < RANDOM_CHARACTERS || !/^[\w+/=.~-]+$/.test(value)) return false;
  if (!/\d/.test(value) || !/[a-z]/.test(value) || !/[A-Z]/.test(value)) return false;
  if (/^[\w.-]*\/[\w.-]*\//.test(value) || /^\d{4}-\d\d-\d\d/.test(value)) return false; // a path, an instant
  return bitsOf(value) >= RANDOM_BITS;
}

/** Shannon entropy, in bits per character. */
function bitsOf(value: string): number {
  const times = new Map<string, number>();
  for (const character of value) times.set(character, (times.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of times.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}
