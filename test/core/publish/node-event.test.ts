/** The schema that consumers have is that of the events, and its example is one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../../core/package-root.ts';
import { eventText, MAX_EVENT_BYTES, NodeEvent, nodeEventSchema, SCHEMA } from '../../../core/publish/node-event.ts';

const test = suite('node events');

const published = JSON.parse(readFileSync(join(packageRoot(), `core/publish/${SCHEMA}.schema.json`), 'utf8')) as {
  examples: unknown[];
};

test('the published schema is that of the events', () => {
  assert.equal(published, nodeEventSchema(), "'npm run schemas' writes it anew");
});

test('its example is valid by both, and another schema name is not', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(published);
  const [example] = published.examples;
  assert.ok(validate(example), JSON.stringify(validate.errors));
  assert.equal(NodeEvent.parse(example), example);
  assert.not.ok(validate({ ...(example as object), schema: 'svc.node.v2' }));
});

test('content that brokers would refuse is left out, measured in bytes', () => {
  const [example] = published.examples as NodeEvent[];
  assert.ok(example);
  const textOf = (text: string) =>
    eventText({ ...example, node: { ...example.node, content: [{ type: 'text', text }], content_omitted: null } });
  const small = MAX_EVENT_BYTES - 2_000;
  assert.is((JSON.parse(textOf('x'.repeat(small))) as NodeEvent).node.content?.[0]?.text?.length, small);
  for (const text of ['x'.repeat(MAX_EVENT_BYTES), '€'.repeat(MAX_EVENT_BYTES / 3)]) {
    const { node } = NodeEvent.parse(JSON.parse(textOf(text)));
    assert.equal([node.content, node.content_omitted], [null, 'too-large']);
  }
});

test.run();
