/** Secrets as they occur in transcripts, each with a text around it, put together here so that no scanner of repositories finds one. */

export type Planted = { what: string; text: string; secret: string };

const planted = (what: string, secret: string, text: (secret: string) => string): Planted => ({
  ...{ what, secret, text: text(secret) },
});

const B32 = 'Q7mZ2xLk9RtVb4NcYp8WsJd3HfGa6TuE';
const HEX = '9f86d081884c7d659a2feaa0c55ad015';

export const PLANTED: readonly Planted[] = [
  planted('a key of OpenAI', `sk-${'proj'}-${B32}${B32}`, (key) => `client = OpenAI(api_key="${key}")`),
  planted('a key of Anthropic', `sk-ant-${'api03'}-${B32}-${B32}AA`, (key) => `export ANTHROPIC_API_KEY=${key}`),
  planted('a token of GitHub', `ghp_${B32}Abcd`, (key) => `git clone https://x-access-token:${key}@github.com/a/b`),
  planted('a fine-grained token of GitHub', `github_pat_${B32}_${B32}`, (key) => `said: ${key}.`),
  planted('a token of GitLab', `glpat-${B32.slice(0, 20)}`, (key) => `PRIVATE-TOKEN: ${key}`),
  planted('a key id of AWS', `AKIA${'IOSFODNN7EXAMPLQ'}`, (key) => `found ${key} in the log`),
  planted(
    'a secret of AWS',
    `wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz${'EXAMPLEK'}`,
    (key) => `aws_secret_access_key = ${key}`,
  ),
  planted('a key of Google', `AIza${B32}abc`, (key) => `https://maps.example/api?key=${key}`),
  planted('a token of Slack', `xoxb-${'123456789012'}-${B32}`, (key) => `bot started with ${key}`),
  planted('a hook of Slack', `hooks.slack.com/services/T00/B00/${B32}`, (key) => `curl -d hi https://${key}`),
  planted('a key of Stripe', `sk_${'live'}_${B32}`, (key) => `stripe listen ${key}`),
  planted('a key of SendGrid', `SG.${B32.slice(0, 22)}.${B32}abcdefghijk`, (key) => `mail with ${key}`),
  planted('a token of npm', `npm_${B32}Abcd`, (key) => `//registry.npmjs.org/:_authToken=${key}`),
  planted('a token of Hugging Face', `hf_${B32}`, (key) => `login ${key}`),
  planted('a JWT', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYW5hIn0.${B32}`, (key) => `cookie ${key}`),
  planted(
    'a private key',
    `MIIEvQIBADANBgkqhkiG9w0BAQ\n${B32}\n${B32}`,
    (key) => `-----BEGIN PRIVATE ${'KEY'}-----\n${key}\n-----END PRIVATE KEY-----`,
  ),
  planted('a bearer token', `${B32.toLowerCase()}.99`, (key) => `Authorization: Bearer ${key}`),
  planted('a password in an address', 'hunter2horse', (key) => `DATABASE_URL=postgres://app:${key}@db.example/app`),
  planted('a password in JSON', 'correct horse battery', (key) => `{"user": "dana", "password": "${key}"}`),
  planted('a password in JSON inside JSON', 'tr0ub4dor', (key) =>
    JSON.stringify({ body: JSON.stringify({ password: key }) }),
  ),
  planted('a password of a command', 'tr0ub4dor&3', (key) => `mysql -u root --password ${key}`),
  planted('a key in YAML', HEX, (key) => `weather:\n  api_key: ${key}`),
  planted('a password of a command in JSON', 'tr0ub4dor33', (key) => `{"command": "export DB_PASSWORD=${key} && run"}`),
  planted('a password behind two names', 'tr0ub4dor44', (key) => `config: db: password: ${key}`),
  planted('a password of an assignment behind a name', 'tr0ub4dor55', (key) => `command: db_password = ${key}`),
  planted('a random value that is assigned to anything', `${B32}zz`, (key) => `const LICENSE = '${key}'`),
  planted('a token of a bot', `${'123456789'}:AA${B32}x`, (key) => `bot ${key} is up`),
];

export const KEPT: readonly { what: string; text: string }[] = [
  { what: 'the hash of a commit', text: 'commit 4be21c7f0d6a1b5c9e8d7f6a5b4c3d2e1f0a9b8c' },
  { what: 'an id', text: 'session_id: 16dd8bce-b2a0-59a6-9baa-d811643b8fe4' },
  { what: 'a variable of the environment', text: 'const password = process.env.DB_PASSWORD' },
  { what: 'a placeholder', text: 'api_key: <your key>, token=%TOKEN%, password: "********"' },
  { what: 'a path', text: 'file_path: /home/dev/ferrybook/src/Timetable2/departuresToday.test.ts' },
  { what: 'a count of tokens', text: 'input_tokens: 184201, max_tokens=4096' },
  { what: 'an instant', text: 'at: 2026-03-14T22:30:00.123456Z' },
  {
    what: 'prose',
    text: 'The token bucket limits requests. Use basic authentication and a bearer token where you can.',
  },
  {
    what: 'code',
    text: "const clock = () => new Date('2026-03-14T22:30:00Z');\nif (a === b) return departuresToday(harbour);",
  },
];
