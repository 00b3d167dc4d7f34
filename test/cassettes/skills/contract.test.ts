import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import skills from '../../../cassettes/skills/cassette.ts';
import { parseManifest } from '../../../core/cassette/admission/manifest.ts';
import { readDocument } from '../../../core/cassette/openapi/document.ts';
import type { Json } from '../../support/read-api.ts';

const test = suite('the contract of skills');

const quiet = () => {};
const env = {
  ...{ CONFIG: { 'llm.base_url': '', 'llm.model': '', 'llm.timeout': 1, 'transcript.max_characters': 2000 } },
  LOG: { debug: quiet, info: quiet, warn: quiet, error: quiet },
};
const ask = async (path: string) => skills.fetch(new Request(`http://cassette${path}`), env);
const document = async (): Promise<Json> => (await ask('/openapi')).json();

/** Route and what it can answer. (501: it has no database.) */
const ROWS: [method: string, path: string, codes: number[]][] = [
  ['get', '/api/skills', [200, 400, 500]],
  ['post', '/api/skills/generate', [201, 400, 404, 422, 500, 501]],
  ['post', '/api/skills', [201, 400]],
  ['get', '/api/skills/{id}', [200, 404]],
  ['put', '/api/skills/{id}', [200, 400, 404]],
  ['delete', '/api/skills/{id}', [204, 403, 404]],
  ['post', '/api/skills/{id}/duplicate', [201, 404]],
  ['get', '/api/skills/{id}/versions', [200, 500]],
  ['post', '/api/skills/{id}/versions', [201, 404, 500]],
  ['get', '/api/skills/{id}/skill.md', [200, 404]],
];

for (const [method, path, codes] of ROWS)
  test(`${method.toUpperCase()} ${path} declares ${codes.join(', ')}`, async () => {
    const { paths } = await document();
    const declared = Object.keys(paths[path][method].responses).map(Number);
    assert.equal(
      codes.filter((code) => !declared.includes(code)),
      [],
    );
    assert.ok(declared.filter((code) => code < 300).length === 1);
  });

test('all that is served is declared: the ten routes, the two tools, and what lists and makes prompts', async () => {
  const { paths } = await document();
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
  const routes = ROWS.map(([method, path]) => `${method} ${path}`);
  const agents = ['post /api/skills/list', 'post /api/skills/get', 'get /api/skills/names'];
  assert.equal(served.sort(), [...routes, ...agents, 'get /api/skills/prompts/{name}'].sort());
});

test('a new name must not be blank, which the schema says too', async () => {
  const { components } = await document();
  const { pattern } = components.schemas.SkillUpdate.properties.name;
  assert.equal(
    ['Release', ' x', '', ' \t'].map((name) => new RegExp(pattern).test(name)),
    [true, true, false, false],
  );
});

test('every failure is a problem with an example that has the member error', async () => {
  const { paths, components } = await document();
  let failures = 0;
  for (const methods of Object.values(paths))
    for (const { responses, operationId } of Object.values(methods as Json) as Json[])
      for (const [status, given] of Object.entries(responses) as [string, Json][]) {
        if (Number(status) < 400) continue;
        const answer = given.$ref ? components.responses[given.$ref.split('/').at(-1)] : given;
        const { example } = answer.content['application/problem+json'];
        assert.is(example.status, Number(status), `${operationId} ${status}`);
        assert.is(typeof example.error, 'string');
        failures++;
      }
  assert.ok(failures > 50);
});

test('the document is let in, with the tools skills_get and skills_list', async () => {
  const { manifest, tools } = await readDocument(await (await ask('/openapi')).text(), {
    name: 'skills',
    isolation: 'inline',
  });
  assert.equal(manifest, parseManifest(skills.manifest));
  assert.equal(
    tools.map(({ full_name, annotations }) => [full_name, annotations.readOnlyHint]),
    [
      ['skills_get', true],
      ['skills_list', true],
    ],
  );
});

test('a differently named installation has differently named tools', async () => {
  const { tools } = await readDocument(await (await ask('/openapi')).text(), { name: 'recipes', isolation: 'inline' });
  assert.equal(
    tools.map(({ full_name }) => full_name),
    ['recipes_get', 'recipes_list'],
  );
});

test('/ping says that it is there', async () => {
  assert.is((await ask('/ping')).status, 200);
});

test.run();
