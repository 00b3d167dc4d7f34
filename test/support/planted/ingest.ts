/** The places of an ingested turn, besides its bodies, that hold credentials. Lines are members of JSON objects. */
import type { Planting } from './planting.ts';

const members = (value: object) => JSON.stringify(value).slice(1, -1);

export const INGEST_PLACES: readonly Planting[] = [
  ['ingest-meta', 'the path', (s) => members({ path: `https://dana:x@h/v1/messages?beta=true&key[]=${s}` })],
  ['ingest-meta', 'the content type', (s) => members({ content_type: `application/json; a="Bearer ${s}"` })],
  ['ingest-meta', 'a header', (s) => members({ headers: { Authorization: s, accept: 'a' } })],
  [
    'ingest-meta',
    'a list of headers',
    (s) =>
      members({
        raw_headers: [
          ['X-Api-Key', s],
          ['accept', 'a'],
        ],
      }),
  ],
  ['ingest-meta', 'named headers', (s) => members({ har: [{ name: 'Set-Cookie', value: s }] })],
  ['ingest-meta', 'a list of cookies', (s) => members({ response_headers: { 'set-cookie': [`a=${s}`, 'b=1'] } })],
  ['ingest-meta', 'a key in a text', (s) => members({ note: `used sk-ant-api03-${s} here` })],
  ['ingest-meta', 'a token in a text', (s) => members({ curl: `curl -H "Authorization: Bearer ${s}"` })],
  ['ingest-meta', 'an address', (s) => members({ upstream: `https://dana:${s}@api.example/v1` })],
  ['ingest-meta', 'the query of an address', (s) => members({ next: `https://h/x?page=7&sig=${s}` })],
  ['ingest-meta', 'a member by its name', (s) => members({ api_key: s })],
  ['ingest-meta', 'a member in a member', (s) => members({ auth: { deep: [{ any: s }] } })],
  ['ingest-meta', 'JSON in a text', (s) => members({ config: JSON.stringify({ virtual_key: s }) })],
  ['ingest-meta', 'a key behind a line break', (s) => members({ dump: `a\nhf_${s}\n` })],
  ['ingest-session', 'the name of a session', (s) => members({ name: `rotate sk-proj-${s}` })],
  ['ingest-session', 'a folder', (s) => members({ cwd: `/home/dana/ghp_${s}` })],
  ['ingest-session', 'a version', (s) => members({ harness_version: `1.0 (Bearer ${s})` })],
  ['ingest-session', 'metadata', (s) => members({ harness_metadata: { 'x-litellm-key': s, url: 'https://h' } })],
  ['ingest-turn', 'the name of an agent', (s) => members({ agent_name: `agent glpat-${s}` })],
];
