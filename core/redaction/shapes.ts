/**
 * The shapes by which keys are recognised anywhere; each line's comment names where the maker describes the shape. A list of our own, since
 * the maintained one on the registry (secretlint) is asynchronous, takes 200 µs a value, and knows none of `Bearer …`, JWT and `hf_…`.
 *
 * Each pattern reads a text once: it begins with letters of its own, and what follows them is one class of characters or is bounded.
 */

export const REDACTED = '[redacted]';

const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?=-----END|$)(?:-----END [A-Z ]{0,40}-----)?/g, // RFC 7468
  /\bsk-(?=[\w-]{0,80}\d)[\w-]{14}[\w-]*/g, // platform.openai.com, docs.anthropic.com (sk-ant-…), openrouter.ai, docs.litellm.ai
  /\b(?:gh[oprsu]_[A-Za-z\d]{16}[A-Za-z\d]*|github_pat_\w{16}\w*)/g, // docs.github.com: about authentication to GitHub
  /\bgl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{16}[\w-]*(?:\.[\w-]+)*/g, // docs.gitlab.com: token prefixes
  /\b(?:A3T[A-Z\d]|ABIA|ACCA|AKIA|ASIA)[A-Z\d]{16}\b/g, // docs.aws.amazon.com: IAM identifiers
  /\bABSK[A-Za-z\d+/=]{40}[A-Za-z\d+/=]*/g, // docs.aws.amazon.com: Bedrock API keys
  /\bAIza[\w-]{30}[\w-]*/g, // cloud.google.com: API keys
  /\bya29\.[\w-]{16}[\w-]*/g, // developers.google.com: OAuth 2.0
  /\bGOCSPX-[\w-]{16}[\w-]*/g,
  /\bxox[a-z](?:\.xox[a-z])?-[\w-]{10}[\w-]*/g, // api.slack.com: token types
  /\bxapp-[\w-]{10}[\w-]*/g,
  /\bhooks\.slack\.com\/(?:services|triggers|workflows)\/[\w/]+/g, // api.slack.com: incoming webhooks
  /\bdiscord(?:app)?\.com\/api\/webhooks\/[\w/-]+/g, // discord.com/developers: webhooks
  /\b(?:pk|rk|sk)_(?:live|test)_\w{10}\w*/g, // docs.stripe.com/keys
  /\bwhsec_[\w+/=]{16}[\w+/=]*/g,
  /\bSG\.[\w-]{16}[\w-]*\.[\w-]{16}[\w-]*/g, // docs.sendgrid.com
  /\bkey-[\da-f]{32}\b/g, // documentation.mailgun.com
  /\bSK[\da-f]{32}\b/g, // twilio.com/docs
  /\bnpm_[A-Za-z\d]{30}[A-Za-z\d]*/g, // docs.npmjs.com: access tokens
  /\bpypi-[\w-]{30}[\w-]*/g, // pypi.org/help
  /\bhf_[A-Za-z\d]{16}[A-Za-z\d]*/g, // huggingface.co/docs: user access tokens
  /\bdop_v1_[\da-f]{40}[\da-f]*/g, // docs.digitalocean.com
  /\bshp(?:at|ca|pa|ss)_[\da-fA-F]{20}[\da-fA-F]*/g, // shopify.dev
  /\b(?:hvb|hvr|hvs)\.[\w-]{20}[\w-]*/g, // developer.hashicorp.com/vault: tokens
  /\bdapi[\da-f]{32}\b/g, // docs.databricks.com
  /\btskey-[\w-]{16}[\w-]*/g, // tailscale.com/kb
  /\blin_(?:api|oauth)_\w{20}\w*/g, // linear.app/developers
  /\b(?:sk|pk)-lf-[\w-]{16}[\w-]*/g, // langfuse.com/docs
  /\blsv2_(?:pt|sk)_\w{20}\w*/g, // docs.smith.langchain.com
  /\b(?:gsk_|xai-|fw_|pplx-|r8_|nvapi-|dckr_pat_|glsa_|ATATT|tvly-|csk-|esecret_|voyage-|pa-|sbp_|rnd_|nfp_|vck_|AGE-SECRET-KEY-1)(?=[\w-]{0,80}\d)[\w-]{24}[\w-]*/g, // Groq, xAI, Fireworks, Perplexity, Replicate, NVIDIA and others
  /\b\d{8,10}:[\w-]{35}\b/g, // core.telegram.org/bots
  /(?<![\w-])eyJ[\w-]{8}[\w-]*\.[\w-]{8}[\w-]*(?:\.[\w-]+){0,3}/g, // RFC 7519: a JWT, signed or encrypted
];

/** How the shapes begin: a text without any of these is not searched for them. This runs over every value that is not known yet. */
const BEGINNINGS =
  /\b(?:A3T|ABIA|ABSK|ACCA|AGE-S|AIza|AKIA|ASIA|ATATT|BEGIN |GOCSPX|SG\.|SK[\da-f]|csk-|dapi|dckr_|discord|dop_v1|esecret|eyJ|fw_|gh[oprsu]_|github_pat|gl[a-z]{2,5}-|gsk_|hf_|hooks\.s|hv[brs]\.|key-|lin_|lsv2|nfp_|npm_|nvapi|pa-|pplx-|[prs]k[_-]|pypi-|r8_|rnd_|sbp_|shp|tskey|tvly|vck_|voyage-|whsec_|xai-|xapp-|xox|ya29|\d{8,10}:)/;

/** `Bearer …` and the like with what follows; not the parameters of a challenge, `Bearer realm="…"`. */
const SCHEME =
  /(?<![\w-])(bearer|basic|dpop|negotiate|ntlm|token|apikey|sharedaccesssignature|sharedkey|oauth|splunk)[ \t]{1,4}(?!(?:acr_values|algorithm|as_uri|auth\w*_uri|charset|client_id|domain|error\w*|max_age|nonce|opaque|qop|realm|resource\w*|scope|stale|title|trusted_issuers)\s?=)([\w.~+/%:=&$-]+)/gi;
/** The text without keys that are recognised by their shape alone. */
export function withoutKeys(text: string): string {
  let left = text;
  if (BEGINNINGS.test(text)) for (const shape of SHAPES) left = left.replace(shape, REDACTED);
  return left;
}

/** The text without what follows `Bearer` and the like. */
export const withoutTokens = (text: string): string =>
  text.replace(SCHEME, (whole, scheme, token) => afterScheme(text, whole, scheme, token));

/** A word of prose, as in `bearer authentication`, is no token: a token has digits or signs in it, or is long, or stands alone as `Bearer x`. */
function afterScheme(text: string, whole: string, scheme: string, token: string): string {
  const alone = /^bearer$/i.test(scheme) && whole.length >= text.length - 2;
  const isRandom = /[\d+/=_]|[a-z][A-Z]/.test(token) && token.length >= 6;
  return alone || isRandom || token.length >= 24 ? `${scheme} ${REDACTED}` : whole;
}

const RANDOM_BITS = 3.5; // for each character; names, versions and paths of that length have less

/** Whether a value looks random: a long number in hex, or letters of both cases and digits with hardly a repetition. */
export function looksRandom(value: string): boolean {
  const text = value.trim().slice(0, 512);
  if (/^[\da-f]{24}[\da-f]*$/i.test(text)) return true;
  if (!/^[\w+/=.~-]{20}[\w+/=.~-]*$/.test(text)) return false;
  return /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text) && bitsOf(text) >= RANDOM_BITS;
}

/** Shannon's entropy of its characters, in bits for each. */
function bitsOf(text: string): number {
  const times = new Map<string, number>();
  for (const character of text) times.set(character, (times.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of times.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
