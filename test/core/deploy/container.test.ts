/** The image and the compose file: what in them has to fit svc, and that no secret and no host of a registry is in them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { unknownVariables } from '../../support/known-variables.ts';

const deploy = join(import.meta.dirname, '../../../core/deploy');
const dockerfile = readFileSync(join(deploy, 'container/Dockerfile'), 'utf8');

/** Keyword and arguments, lines that are continued joined. */
const instructions = dockerfile
  .split('\n')
  .filter((line) => !line.startsWith('#'))
  .join('\n')
  .replace(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line): [string, string] => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]);
const stages = instructions.reduce<[string, string][][]>((found, one) => {
  if (one[0] === 'FROM') found.push([]);
  found.at(-1)?.push(one);
  return found;
}, []);
const last = new Map(stages.at(-1));

const image = suite('the image');

image('each instruction is one that a Dockerfile has', () => {
  const known = /^(FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD)$/;
  for (const [keyword] of instructions) assert.match(keyword, known);
});

image('it is built in stages, on the usual image of Node alone', () => {
  const from = instructions.flatMap(([keyword, rest]) => (keyword === 'FROM' ? rest : []));
  assert.equal(from, ['node:22-bookworm-slim AS build', 'scratch AS packed', 'node:22-bookworm-slim']);
  assert.not.match(last.get('RUN') ?? '', /npm (ci|run)|apt/);
  assert.match(last.get('RUN') ?? '', '--offline');
});

image('it runs without rights, keeps its folder, is asked for its health, and is stopped as svc stops', () => {
  assert.is(last.get('USER'), 'node');
  assert.equal(JSON.parse(last.get('VOLUME') ?? ''), [last.get('WORKDIR')]);
  assert.is(last.get('STOPSIGNAL'), 'SIGTERM');
  assert.equal(JSON.parse(last.get('ENTRYPOINT') ?? ''), ['svc']);
  assert.equal(JSON.parse(last.get('CMD') ?? ''), ['serve']);
  const health = /CMD (\[.*\])$/.exec(last.get('HEALTHCHECK') ?? '')?.[1];
  const [program, flag, script] = z.tuple([z.string(), z.string(), z.string()]).parse(JSON.parse(health ?? ''));
  assert.equal([program, flag], ['node', '-e']);
  new Function(script); // it is JavaScript
});

image('its settings are ones that svc knows', () => {
  const names = [...(last.get('ENV') ?? '').matchAll(/(\w+)=/g)].map(([, name = '']) => name);
  assert.ok(names.includes('SVC_PROXY_LISTEN'));
  assert.equal(unknownVariables(names), []);
});

image('a build is sent neither what it makes nor what is private', () => {
  const ignored = readFileSync(join(deploy, 'container/Dockerfile.dockerignore'), 'utf8').split('\n');
  for (const path of ['.git', '**/node_modules', 'dist', 'test', '.svc', '**/.env'])
    assert.ok(ignored.includes(path), path);
});

image.run();

const compose = suite('the compose file');
const document = parseDocument(readFileSync(join(deploy, 'compose/compose.yaml'), 'utf8'), { merge: true });

const Service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()),
  healthcheck: z.looseObject({ test: z.array(z.string()) }),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  stop_grace_period: z.string(),
});
const whole = z
  .looseObject({ services: z.record(z.string(), Service), volumes: z.record(z.string(), z.unknown()) })
  .parse(document.toJS());
const ours = Object.entries(whole.services).filter(([name]) => name !== 'postgres');

compose('it is YAML, with PostgreSQL and all roles', () => {
  assert.equal(document.errors, []);
  assert.equal(document.warnings, []);
  assert.equal(
    ours.map(([, { command }]) => command),
    ['proxy', 'api', 'ingest', 'derive'].map((role) => ['serve', role]),
  );
  assert.match(whole.services.postgres?.image ?? '', /^pgvector\//);
});

compose('no secret is in it: without one there is a sentence', () => {
  for (const [name, { environment }] of Object.entries(whole.services))
    for (const [variable, value] of Object.entries(environment))
      if (/PASSWORD|TOKEN|DSN/.test(variable)) assert.match(value, /\$\{\w+:\?[^}]+\}/, `${name} ${variable}`);
});

compose('its settings are ones that svc knows, volumes are declared, and ports are open to this machine alone', () => {
  for (const [name, { environment, volumes = [], ports = [], stop_grace_period }] of ours) {
    assert.equal(unknownVariables(Object.keys(environment)), [], name);
    for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in whole.volumes, volume);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
    assert.ok(Number.parseInt(stop_grace_period, 10) > 40);
  }
  assert.equal(whole.services.proxy?.volumes, ['journal:/var/lib/svc']);
});

compose('each asks the internal listener whether it is ready', () => {
  for (const [name, { healthcheck, environment }] of ours) {
    const [, program, flag, script = ''] = healthcheck.test;
    assert.equal([program, flag], ['node', '-e'], name);
    new Function(script);
    assert.match(script, ':8092/ready');
    assert.is(environment.SVC_INTERNAL_LISTEN, '0.0.0.0:8092');
  }
});

compose.run();
