/** Are the first page and the table of settings true? Both are compared with what the code says; the first page stays one. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type BannerFacts, bannerEnd, bannerStart } from '../../core/cli/serve/banner.ts';
import { type ConfigKey, keys } from '../../core/config/keys.ts';
import { Config } from '../../core/config/schema.ts';
import { UPSTREAMS } from '../../core/provider/provider-ids.ts';
import { providers } from '../../core/provider/providers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(`${root}README.md`, 'utf8');
const proxyPage = readFileSync(`${root}proxy/README.md`, 'utf8');
const settings = readFileSync(`${root}core/config/README.md`, 'utf8');
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };

const test = suite('README');

const code = (text: string | null) => (text === null ? 'file only' : `\`${text}\``);

/** As in TOML, so that it can be pasted into the file. */
const row = ({ path, flag, env, default: fallback, description, choices }: ConfigKey) => {
  const shown = fallback === undefined ? 'not set' : code(JSON.stringify(fallback));
  const among = choices.length > 0 ? ` (${choices.map((choice) => code(choice)).join(', ')})` : '';
  return `| ${[code(path), code(flag), code(env), shown, `${description}${among}`].join(' | ')} |`;
};

test('every setting stands in the table as the schema has it, and no other', () => {
  const expected = keys.map(row);
  const lines = settings.split('\n').map((line) => line.replace(/ +\|/g, ' |')); // the formatter aligns columns
  const table = lines.filter((line) => /^\| `[a-z_.]+` \| (`--|file only)/.test(line));
  assert.equal(table, expected, `core/config/README.md must hold this table of settings:\n${expected.join('\n')}`);
});

test('every provider stands in the table with its prefix, its address and the formats that it serves', () => {
  const expected = providers.map(({ id, formats, alsoServes }) => {
    const served = [...formats, ...alsoServes].map(({ id }) => code(id)).join(', ');
    return `| ${[code(`/${id}/…`), code(UPSTREAMS[id]), served].join(' | ')} |`;
  });
  const lines = proxyPage.split('\n').map((line) => line.replace(/ +\|/g, ' |'));
  const table = lines.filter((line) => /^\| `\/[a-z]+\/…`/.test(line));
  assert.equal(table, expected, `proxy/README.md must hold this table of providers:\n${expected.join('\n')}`);
});

const facts: BannerFacts = {
  role: 'all',
  version,
  loaded: { config: Config.parse({}), folder: '.svc' },
  isTerminal: false,
  proxy: ['http://127.0.0.1:8080'],
  api: ['http://127.0.0.1:8081'],
  ingest: ['http://127.0.0.1:8082'],
  internal: [],
};

test('what npm start prints stands there line by line', () => {
  const printed = bannerStart(facts) + bannerEnd(facts);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with an escape character
  const plain = printed.replace(/\u001b\[[0-9;]*m/g, '').trimEnd();
  assert.ok(readme.includes(plain), `README.md must show what the service prints at its start:\n${plain}`);
});

test('where the read API wants a token, the line to paste sends it by its name, and it is not shown', () => {
  const token = 'planted-token';
  const withToken = { ...facts, loaded: { ...facts.loaded, config: Config.parse({ version: 0, api: { token } }) } };
  const printed = bannerStart(withToken) + bannerEnd(withToken);
  assert.not.match(printed, token);
  assert.match(printed, 'curl -H "authorization: Bearer $SVC_API_TOKEN" http://localhost:8081/v1/sessions');
});

test('it is one page', () => {
  assert.ok(readme.split('\n').length <= 150);
});

test.run();
