import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { skillMd, skillText, slugOf, type Written } from '../../../cassettes/skills/skill-md.ts';
import { skillProblems, skillTextProblems } from '../../support/agent-skills.ts';

const test = suite('skill.md');

const skill = (more: Partial<Written> = {}): Written => {
  const name = more.name ?? 'Roll back a release';
  return {
    ...{ slug: slugOf(name), name, description: 'How to roll back', version: '0.1.0', type: 'workflow', tags: [] },
    ...{ content: '# Steps\n', originatingSessionIds: [], createdAt: '2026-11-21T09:00:00Z' },
    ...more,
  };
};
const front = (text: string) => parse(/^---\n([\s\S]*?)\n---\n/.exec(text)?.[1] ?? '');

test('the check refuses what the format refuses', () => {
  const text = (yaml: string, body = 'text') => `---\n${yaml}\n---\n${body}`;
  const refused: [string, string][] = [
    ['no front matter', 'text'],
    ['no YAML', text('name: "a\ndescription: b')],
    ['unquoted colon', text('name: a\ndescription: when: now')],
    ['upper case', text('name: A\ndescription: b')],
    ['two hyphens', text('name: a--b\ndescription: b')],
    ['hyphen at the end', text('name: a-\ndescription: b')],
    ['long name', text(`name: ${'a'.repeat(65)}\ndescription: b`)],
    ['no description', text('name: a')],
    ['long description', text(`name: a\ndescription: ${'b'.repeat(1025)}`)],
    ['unknown key', text('name: a\ndescription: b\nversion: "1"')],
    ['metadata of numbers', text('name: a\ndescription: b\nmetadata: {version: 1}')],
    ['no body', text('name: a\ndescription: b', '')],
  ];
  for (const [what, bad] of refused) {
    const name = /^name: (.*)$/m.exec(bad)?.[1] ?? 'a';
    assert.ok(skillTextProblems(bad, name).length > 0, what);
  }
  assert.equal(skillTextProblems(text('name: a\ndescription: b'), 'a'), []);
  assert.equal(skillTextProblems(text('name: a\ndescription: b'), 'other'), ['name is not that of the folder']);
});

test('a slug is 1 to 64 of a-z, 0-9 and single hyphens', () => {
  assert.is(slugOf('  Über: Café & Co.  '), 'uber-cafe-co');
  assert.is(slugOf(`${'x'.repeat(63)} y`), 'x'.repeat(63));
  assert.is(slugOf('日本'), 'skill');
  assert.is(slugOf('日本', ['16dd8bce-b2a0-59a6-9baa-d811643b8fe4']), 'skill-from-16dd8bce');
});

test('whatever is written into a skill, the folder is an agent skill and says the same', () => {
  const text = (maxLength: number) =>
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength }),
      fc.constantFrom(
        '---',
        'yes',
        '1.0',
        '2026-01-01',
        'it\'s: # "x"\n---\nname: evil',
        '\t',
        '\u0085\u2028',
        '!!js/x',
        '[',
        '',
      ),
    );
  void fc.assert(
    fc.property(
      text(80),
      text(1024),
      fc.array(text(20), { maxLength: 4 }),
      text(200),
      (name, description, tags, content) => {
        const written = skill({ name, description, tags, content });
        const md = skillMd(written);
        assert.equal(skillTextProblems(md, written.slug), []);
        const { description: readBack, metadata } = front(md);
        assert.is(metadata.title, name);
        if (description.trim() !== '') assert.is(readBack, description.trim());
        if (tags.length > 0) assert.is(metadata.tags, tags.join(', '));
      },
    ),
    { numRuns: 300 },
  );
});

test('a description has at most 1,024 characters, and none of them is half of one', () => {
  const { description } = front(skillMd(skill({ description: `${'x'.repeat(1023)}😀` })));
  assert.is(description, 'x'.repeat(1023));
});

test('without a description it is told by its name', () => {
  assert.is(front(skillMd(skill({ description: ' ' }))).description, 'Roll back a release');
});

test('content that was pasted with its front matter has one front matter, and a line stays a line', () => {
  const pasted = skillMd(skill({ content: '# Steps' }));
  assert.is(skillMd(skill({ content: pasted })), pasted);
  assert.match(skillMd(skill({ content: '---\n\ntext\n\n---\nmore' })), /---\n\n---\n\ntext\n\n---\nmore\n$/);
});

test('written into a folder of its name, it is accepted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-skill-'));
  try {
    const written = skill();
    await mkdir(join(folder, written.slug));
    await writeFile(join(folder, written.slug, 'SKILL.md'), skillMd(written));
    assert.equal(await skillProblems(join(folder, written.slug)), []);
    assert.equal(await skillProblems(folder), ['there is no SKILL.md']);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('front matter that YAML warns of puts nothing of it on stderr, and broken one is content', async () => {
  const warnings: string[] = [];
  const listener = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', listener);
  const text = (content: string) => skillText({ name: 'n', content });
  assert.is(text('---\nname: !x the-secret-words\n---\nbody'), 'body');
  assert.is(text('---\nname: n\n? {a: the-secret-words}\n: 1\n---\nbody'), 'body');
  for (const content of ['---\nname: "torn\n---\nbody', '---\nname: a: b\n---\nbody'])
    assert.is(text(content), content);
  await new Promise((done) => setImmediate(done)); // a warning is emitted in the next tick
  process.off('warning', listener);
  assert.equal(warnings, []);
});

test.run();
