/** What the README has a stranger type first works as it stands: install, start, look, in a fresh clone and without a network afterwards. */
import { suite } from 'uvu';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite("the README's first sections");

const FIRST = ['Start', 'Point a client at it', 'Read it back'];

const why = noShell();
if (why !== null) console.log(`skip: the README's first sections: ${why}`);
else
  test('every shell line works as it stands, in a fresh clone', () =>
    linesWork({
      file: 'README.md',
      of: (section) => FIRST.includes(section),
      lines: [
        [/^npm ci\b/, /added \d+ packages/],
        [/^npm start\b/, /Compiling[\s\S]+is recording[\s\S]+\/v1\/sessions\n/],
        [/^npm run demo\b/, /Recorded as a session of 3 model calls[\s\S]+Ctrl-C/],
        [/^alias svc=/, /^$/],
        [/^svc status\b/, /is running\n/],
        [/admin\/seed\/demo/, /"sessions":7,/],
        [/v1\/sessions +#/, /"items":\[\{"id":/],
        [/browse\/sessions\?text=/, /"items":\[\{"id":/],
        [/sessions\/\S+\/traces/, /"traces":\[\{/],
        [/v1\/traces\/[-0-9a-f]+ +#/, /"spans":\[\{/],
        [/spans\/[-0-9a-f]+ +#/, /"kind":"llm"/],
        [/raw_turns\?include=payload/, /"items":\[\{[\s\S]*"payload"/],
        [/v1\/stats\?since/, /"session_count":[1-9]/],
        [/-N \S+\/v1\/events/, /data: ?/],
        [/v1\/coverage/, /"requests":\d+/],
        [/^claude mcp add/, /Added HTTP MCP server svc/],
        [/^codex mcp add/, /Added global MCP server 'svc'/],
      ],
    }));

test.run();
