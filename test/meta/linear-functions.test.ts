/** Does anything that reads recorded or foreign text take quadratic time over it? Each function on texts that repeat one piece. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chunksOf, embeddedText, snippetOf } from '../../cassettes/search/span-text.ts';
import { drawn, SkillAnswer } from '../../cassettes/skills/claims.ts';
import { masked } from '../../cassettes/skills/mask.ts';
import { stepOf } from '../../cassettes/skills/transcript.ts';
import { blocksText } from '../../core/api/mcp/blocks.ts';
import { oneLine, quoted } from '../../core/api/mcp/quote.ts';

import { firstWords } from '../../core/derive/first-words.ts';
import { plainText } from '../../core/derive/plain-text.ts';
import { promptText } from '../../core/derive/prompt.ts';
import { normalAction } from '../../core/harness/action.ts';
import { titleIn, verdict } from '../../core/harness/claude-calls.ts';
import { spawned } from '../../core/harness/claude-tools.ts';
import { UNHASHED_TAGS } from '../../core/harness/harnesses.ts';
import { projectedText } from '../../core/merkle/projection.ts';
import { bodyShape, eventData, streamEvents } from '../../core/provider/sse.ts';
import { redactText } from '../../core/redaction/text.ts';
import { redactUrl } from '../../core/redaction/url.ts';
import { growthProblem } from '../support/growth.ts';
import { attacksOn, patternsOfProduct } from '../support/patterns.ts';

const test = suite('functions that read recorded text');

const session = '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c';
const span = { session_id: session, trace_id: session, span_id: 's', kind: 'llm', call_kind: 'main', name: 'x' };
const blocks = (text: string) => [{ type: 'text', text }];
const call = { call_kind: 'main', inherited_from: null, said_blocks: [0], output: [], error_message: '' };

/** What a skill is made of when a model says this, and claims to have it from the transcript. */
function drawnFrom(text: string) {
  const quote = text.slice(0, 4_000);
  const step = {
    sessionId: session,
    traceId: session,
    spanId: 's',
    utterances: [{ by: 'user' as const, text: quote }],
  };
  const claims = [{ text, sources: [{ span: 's', quote }] }];
  return drawn(SkillAnswer.parse({ name: text, sections: [{ heading: text, claims }] }), [step], undefined);
}

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  masked,
  stepOf: (text) => stepOf({ ...span, input: blocks(text), output: [] }),
  'stepOf a tool': (text) =>
    stepOf({ ...span, kind: 'tool', input: [{ type: 'x', tool_input: { text } }], output: [] }),
  drawn: drawnFrom,
  plainText: (text) => plainText({ ...call, input: blocks(text) }),
  embeddedText,
  chunksOf: (text) => chunksOf(text, 1_000),
  snippetOf,
  blocksText: (text) => blocksText(blocks(text), true),
  oneLine: (text) => oneLine(text, 20_000),
  quoted,
  redactText,
  redactUrl: (text) => redactUrl(text.slice(0, 16_384)),
  firstWords,
  promptText: (text) => promptText(blocks(text)),
  normalAction,
  titleIn: (text) => titleIn(blocks(text)),
  verdict: (text) => verdict(blocks(text)),
  spawned: (text) => spawned({ type: 'tool_result', tool_output: text }),
  projectedText: (text) => projectedText(text, UNHASHED_TAGS),
  bodyShape: (text) => bodyShape(text, text),
  eventData,
  streamEvents,
};

/** What those who speak with a model, and those who wrap that, write; and what stands in the patterns that read it. */
const MARKS = [
  ...['<system-reminder>', '<system-reminder', '</system-reminder>', '<command-args>', '<session>', '[@a](plugin://'],
  ...['<transcript>', '<thinking>', '<block>', '<summary>', 'agentId: ', 'data: ', 'data:\n\n', '\r', '\r\n', 'event:'],
  ...[
    'token ',
    'token  ',
    'Bearer\t',
    '-eyJ',
    '-eyJaaaaaaaa',
    '.eyJaaaaaaaa',
    'a://b:',
    '://a',
    'a=',
    'a="',
    'token=(',
    'cookie=(',
    'token="(',
    'token="{',
    'a: ',
    '\\"a\\":',
  ],
  ...[
    '-----BEGIN PRIVATE KEY-----',
    '-----END ',
    '--password ',
    '"',
    '\\',
    '`',
    '`a',
    '{',
    '}',
    '[',
    '{"a":',
    '#',
    '# ',
    '![',
  ],
  ...[
    ' ',
    ' \n',
    '\n',
    '\t',
    '\0',
    'a',
    'A0',
    '0',
    '-',
    '.',
    '_',
    '/',
    ':',
    '=',
    '<',
    '</',
    '>',
    'ä',
    '\ud83d',
    'e\u0301',
  ],
];
const READING = /^(?:cassettes\/(?:skills|search)|core\/(?:harness|derive|merkle|provider|api\/mcp))\//;
const ofPatterns = patternsOfProduct()
  .filter(({ where }) => READING.test(where))
  .flatMap((pattern) => attacksOn(pattern).map(({ piece }) => piece));
const pieces = [...new Set([...MARKS, ...ofPatterns])].filter((piece) => piece.length < 60);

for (const [name, read] of Object.entries(readers)) {
  test(`${name} takes time in proportion to its text`, () => {
    const some = name === 'masked' || name === 'plainText' ? pieces : [...MARKS];
    for (const piece of some)
      for (const before of some === pieces ? [''] : ['', 'x ']) {
        const problem = growthProblem(read, before, piece);
        assert.is(problem, null, `${JSON.stringify([before, piece])}: ${problem}`);
      }
  });
}

test('150,000 blanks in a prompt are read at once', () => {
  const { user } = process.cpuUsage();
  stepOf({ ...span, input: blocks(`token${' '.repeat(150_000)}`), output: [] });
  assert.ok((process.cpuUsage().user - user) / 1_000 < 1_000);
});

test('of a text without end only its beginning and its end are read', () => {
  const text = `api_key=kept-${'a b '.repeat(1_000_000)} password=hunter2-hunter2`;
  const { user } = process.cpuUsage();
  const seen = masked(text);
  assert.ok((process.cpuUsage().user - user) / 1_000 < 2_000);
  assert.ok(seen.length < 300_000);
  assert.ok(seen.startsWith('api_key=[masked]') && seen.endsWith('password=[masked]'), seen.slice(-100));
});

test.run();
