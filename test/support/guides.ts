/** The guides: which shell lines the documents have, what each of them shows, and which test of `test/e2e` runs them. */
import type { Sections } from './section-lines.ts';

/** `by`: the test file, without folder and ending. */
export type Guide = Sections & { by: string };

const CASSETTES_FIRST = ['What comes with the service', 'Try it'];

export const GUIDES: readonly Guide[] = [
  {
    by: 'readme-start',
    file: 'README.md',
    lines: [
      [/^npm ci\b/, /added \d+ packages/],
      [/^npm start\b/, /Compiling[\s\S]+is recording[\s\S]+\/v1\/sessions\n/],
      [/^npm run demo\b/, /Recorded as a session of 3 model calls[\s\S]+Ctrl-C/],
      [/^alias svc=/, /^$/],
      [/^svc open\b/, /^http:\/\/localhost:8081\/$/m],
      [/^svc status\b/, /is running\n/],
      [/admin\/seed\/demo/, /"sessions":12,/],
      [/v1\/sessions +#/, /"items":\[\{"id":/],
      [/sessions\/\S+\/traces/, /"traces":\[\{/],
      [/v1\/coverage/, /"requests":\d+/],
    ],
  },
  {
    by: 'readme-lines.long',
    file: 'core/api/README.md',
    lines: [
      [/v1\/sessions +#/, /"items":\[\{"id":/],
      [/browse\/sessions\?text=/, /"items":\[\{"id":/],
      [/sessions\/\S+\/traces/, /"traces":\[\{/],
      [/v1\/traces\/[-0-9a-f]+ +#/, /"spans":\[\{/],
      [/spans\/[-0-9a-f]+ +#/, /"kind":"llm"/],
      [/browse\/facets\?field=model/, /"items":\[\{"value":"/],
      [/raw_turns\?include=payload/, /"items":\[\{[\s\S]*"payload"/],
      [/raw_turns\/1 +#/, /"raw_turn_id":1,[\s\S]*"headers":\[\[/],
      [/raw_turns\/1\/response\?as=decoded/, /"usage"/],
      [/v1\/whereis\/[-0-9a-f]+ +#/, /"items":\[\{"kind":"span"/],
      [/v1\/stats\?since/, /"session_count":[1-9]/],
      [/-N \S+\/v1\/events/, /data: ?/],
      [/v1\/coverage/, /"requests":\d+/],
      [/^claude mcp add/, /Added HTTP MCP server svc/],
      [/^codex mcp add/, /Added global MCP server 'svc'/],
      [/^svc verify/, /all as written/],
    ],
  },
  {
    by: 'readme-lines.long',
    file: 'ingest/README.md',
    lines: [
      [/v1\/ingest -H/, /"status":"accepted"|"root_hash"|202|\{"/],
      [/^file=/, /^$/],
      [/^jq /, /\{"/],
    ],
  },
  {
    by: 'readme-cassettes',
    file: 'cassettes/README.md',
    of: (section) => CASSETTES_FIRST.includes(section),
    lines: [
      [/export\/sessions'/, /^\{".*\}$/m],
      [/export\/sessions\/[-0-9a-f]+\?detail=traces/, /^\{".*\}$/m],
      [/search\/spans/, /"count":[1-9]/],
      [/search\/status/, /\{/],
      [/cassettes\/skills/, /\[/],
      [/^svc cassette new weather && cd weather/, /weather is in weather\//],
      [/^svc cassette check \./, /It can be let in/],
      [/^svc cassette add \./, /Added weather to /],
      [/^svc cassette list/, /weather +admitted/],
      [/^svc cassette remove weather/, /Removed weather from /],
    ],
  },
  {
    by: 'guide-lines.long',
    file: 'cassettes/README.md',
    of: (section) => !CASSETTES_FIRST.includes(section),
    lines: [
      [/^svc cassette new weather/, /weather is in weather\//],
      [/^cd weather/, /^$/],
      [/^svc cassette check \./, /It can be let in/],
      [/^npm install && npm pack/, /weather-0\.1\.0\.tgz/],
      [/^svc cassette add \.\/weather-0\.1\.0\.tgz/, /Added weather to /],
      [/^export SVC_INTERNAL_LISTEN/, /^$/],
      [/^npm start/, /is recording[\s\S]+\/v1\/sessions\n/],
      [/internal\/readiness\/evidence/, /"ready":true/],
    ],
  },
  {
    by: 'guide-lines.long',
    file: 'core/cassette/scaffold/README.md',
    before: ['svc cassette new my-cassette'],
    folder: 'my-cassette',
    lines: [
      [/^npm install/, /added \d+ packages/],
      [/^npm test/, /pass \d/],
      [/^svc cassette check \./, /It can be let in/],
      [/^svc cassette add \./, /Added my-cassette to /],
      [/my-cassette\/sessions/, /\{/],
      [/my-cassette\/longest/, /\{/],
    ],
  },
  {
    by: 'guide-lines.long',
    file: 'cassettes/export/README.md',
    lines: [
      [/export\/sessions'/, /^\{".*\}$/m],
      [/since=.*&detail=traces/, /^\{".*\}$/m],
      [/export\/sessions\/[-0-9a-f]+'/, /^\{".*\}$/m],
    ],
  },
  {
    by: 'guide-lines.long',
    file: 'core/cli/keep/README.md',
    lines: [
      [/^svc seed/, /(Added 12 sessions|12 sessions of the demo were there already)/],
      [/^svc backup -o record\.svc/, /Backed up \d+ sessions, \d+ turns: .*record\.svc \(/],
      [/^svc verify/, /: all as written\n$/],
      [/^svc purge --before/, /Would remove \d+ sessions with \d+ turns\n/],
      [/svc forget --dry-run/, /(It stands nowhere|Session [-0-9a-f]{36})/],
      [/^svc gc/, /^The database takes /m],
      [/^svc token new/, /^[\w-]{43}\n/],
    ],
  },
  {
    by: 'guide-lines.long',
    file: 'core/cli/record/README.md',
    lines: [
      [/^svc sessions +#/, /^12 +\S+ /m],
      [/^svc sessions --text/, /^ *1 +\S+ /m],
      [/^svc sessions show 1/, /^── 1 ──/m],
      [/^svc sessions show last --full/, /^── 1 ──/m],
      [/^svc sessions rename 2/, /is called 'The slow harbour'/],
      [/^svc sessions star 2/, /has a star/],
      [/^svc sessions delete 2/, /^Deleted 'The slow harbour'/m],
      [/^svc sessions open 1/, /^http:\/\/localhost:8081\/sessions\/[-0-9a-f]{36}$/m],
      [/^svc traces last/, /^ID +STARTED +PROMPT/],
      [/^svc spans 2c9264c9/, /^26c249a1 +llm /m],
      [/^svc raw-turns last/, /^TURN +REQUESTED/],
      [/^svc stats --since/, /^sessions +1[12]$/m],
      [/^svc stats --by/, /^DAY +MODEL +COST/m],
      [/^svc coverage/, /^all +98 /m],
      [/^svc find midnight test/, /^1 +16dd8bce /m],
      [/^svc find --mode vector/, /^1 +[0-9a-f]{8} /m],
      [/^svc export 1 -o/, /^Exported /m],
      [/^svc skills +#/, /There is no skill/],
      [/^svc cassette run search +#/, /find-spans \[options\]/],
      [/^svc cassette run search find-spans/, /"count": [1-9]/],
    ],
  },
  {
    by: 'contributing-lines.long',
    file: 'CONTRIBUTING.md',
    lines: [
      [/^npm ci$/, /added \d+ packages/],
      [/^npm test -- /, /^[1-9]\d* passed, 0 failed$/m],
    ],
  },
];

export const guidesBy = (by: string): readonly Guide[] => GUIDES.filter((guide) => guide.by === by);
