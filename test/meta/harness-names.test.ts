/** Does the product name a harness, its tools or its tags outside of `core/harness/`? A new harness is a file and a line there. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { harnesses } from '../../core/harness/harnesses.ts';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('names of harnesses');

/** Where names are data, and no code decides by them. */
const EXCEPT = [
  'core/harness/', // where they belong
  'core/demo/', // recordings of sessions, as harnesses send them
  'core/cli/demo/', // what to type to see one of those
  'core/web/client/pages/sessions/setup-lines.ts', // the lines to paste, which a test compares with those of the harnesses
  'core/cli/doctor/', // where harnesses have their settings, and what of them to check
  'core/cli/start/harness/', // how each is pointed at the proxy
  'core/cli/start/commands.ts', // what to type
  'core/cli/record/commands.ts', // arguments in help, which are written as <session>
  'core/cli/sync/harness/', // where each leaves its transcripts
  'core/cli/sync/commands.ts', // whose transcripts they are, in help
  'core/model/',
  'core/web/client/pages/session/resume-commands.ts', // what to type to go on with a session
  'core/engine/ingest/ingest-turn.ts', // examples in the contract
];

/** Names that providers have given to tools of their own, which wire formats and prices know. */
const OF_PROVIDERS = ['web_search', 'web_fetch', 'shell', 'local_shell'];

/** Of tools that only a harness's own functions name. */
const TOOLS = ['Agent', 'Task', 'TodoWrite', 'TaskCreate', 'TaskUpdate', 'todowrite', 'update_plan', 'spawn_agent'];

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const anyOf = (words: readonly string[]) => words.map(escaped).join('|');
const all = (list: (harness: (typeof harnesses)[number]) => readonly string[]) => harnesses.flatMap(list);

const tags = all(({ unhashedTags, wrappers, unwrapped }) => [...unhashedTags, ...wrappers, ...unwrapped]);
const tools = [...TOOLS, ...all(({ shells, servedTools }) => [...shells, ...Object.values(servedTools).flat()])];

/** What must not stand in a literal or an identifier; models of Anthropic's are called claude-… too, and some of OpenAI's codex-mini. */
const FORBIDDEN = [
  new RegExp(
    `(?<![A-Za-z])(?:${anyOf(harnesses.map(({ id }) => id).filter((id) => id.length > 2))})(?!-(?:sonnet|opus|haiku|mini|\\d|$))`,
    'i',
  ),
  /^pi$/,
  new RegExp(`(?<![\\w-])(?:${anyOf(all((one) => [...one.sessionHeaders, ...one.changingHeaders]))})(?![\\w-])`),
  new RegExp(`</?(?:${anyOf(tags)})\\b`),
  new RegExp(`(?<![\\w-])(?:${anyOf(tags.filter((tag) => /[-_]/.test(tag)))})(?![\\w-])`), // others are plain words
  new RegExp(anyOf(all(({ noTurnPaths }) => noTurnPaths))),
  new RegExp(anyOf(all(({ modelSuffixes }) => modelSuffixes)), 'i'),
];

/** A tool's name is a plain word, which an identifier may well be. */
const TOOL = new RegExp(`^(?:${anyOf(tools.filter((tool) => !OF_PROVIDERS.includes(tool)))})$`);

/** The names in a source's literals and identifiers: in its code without comments. */
function namesIn(path: string, source: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const isText = ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
    if (isText || ts.isIdentifier(node)) {
      const word = ts.isRegularExpressionLiteral(node) ? node.text.replaceAll('\\', '') : node.text;
      if (FORBIDDEN.some((name) => name.test(word)) || (isText && TOOL.test(word))) names.push(word);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true));
  return names;
}

const root = packageRoot();
const sources = ['core', 'proxy', 'ingest', 'cassettes'].flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|mjs|js)$/.test(path))
    .map((path) => relative(root, join(root, room, path))),
);

test('each kind of name is noticed, in code and not in comments', () => {
  const planted = [
    `const HEADERS = ['x-claude-code-session-id'];`,
    `import { codex } from './codex.ts';`,
    `if (harness_id === 'pi') done();`,
    `const name = \`\${x} opencode\`;`,
    `headers['session-id'] = id;`,
    `text.replace(/<\\/?(?:command-args)>/g, '')`,
    `text.indexOf('<status>')`,
    `const TAGS = 'system-reminder|environment_context';`,
    `tool === 'ExitPlanMode' || tool === 'update_plan';`,
    `name === 'Bash'`,
    `path.startsWith('/api/claude_cli')`,
    `model.replace(/\\[1m\\]$/i, '')`,
  ];
  for (const source of planted) assert.ok(namesIn('x.ts', source).length > 0, source);
  const fine = `/** As Codex does. */ const status = 'event'; // <status> of Claude Code
    const model = 'claude-sonnet-4-5', header = 'x-svc-harness-session-id', it = 'conversation';`;
  assert.equal(namesIn('x.ts', fine), []);
});

test('no code outside of core/harness/ has one', () => {
  assert.ok(sources.length > 300, `${sources.length}`);
  const found = sources
    .filter((path) => !EXCEPT.some((room) => path.startsWith(room)))
    .flatMap((path) => namesIn(path, readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`));
  assert.equal(found, []);
});

test('each exception is needed', () => {
  for (const room of EXCEPT) {
    const within = sources.filter((path) => path.startsWith(room));
    assert.ok(
      within.some((path) => namesIn(path, readFileSync(join(root, path), 'utf8')).length > 0),
      room,
    );
  }
});

test.run();
