/** Does hostile Markdown become harmless values, in which each of its words is still there? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { markdownBlocks } from '../../../../core/web/client/worker/markdown-tokens.ts';
import type { Inline, MarkdownBlock } from '../../../../core/web/client/worker/tokens.ts';
import { webLink } from '../../../../core/web/client/worker/web-link.ts';

const test = suite('markdownBlocks');

/** All values of a key anywhere in the tokens. */
const all = (value: unknown, key: string): unknown[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, part]) => [...(name === key ? [part] : []), ...all(part, key)])
    : [];
const textOf = (blocks: readonly (MarkdownBlock | Inline)[]) => all(blocks, 'text').join('');
const links = (text: string) => all(markdownBlocks(text, null), 'href');

test('HTML is text, in blocks and in lines', () => {
  for (const html of [
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    '<iframe srcdoc="<b>x</b>"></iframe>',
    'before <b onclick="x()">bold</b> after',
    '<!-- comment -->',
  ]) {
    const blocks = markdownBlocks(html, null);
    assert.is(textOf(blocks).trimEnd(), html);
    assert.equal(
      all(blocks, 'type').filter((type) => !['source', 'paragraph', 'text'].includes(String(type))),
      [],
    );
  }
});

test('only what leads to the web or to a letter is a link; all else stays text with its address', () => {
  for (const address of [
    ...['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', 'data:text/html,x', 'vbscript:x'],
    ...['file:///etc/passwd', 'vscode://x', '/v1/admin/purge', '//evil.example', '?q=1', '#x', 'blob:x'],
    ...['https://user:secret@evil.example/', 'http://', '&#106;avascript:alert(1)'],
  ]) {
    assert.equal(links(`[click](<${address}>)`), [], address);
    assert.equal(links(`<${address}>`), [], address);
    assert.ok(textOf(markdownBlocks(`[click](<${address}>)`, null)).includes('click'), address);
  }
  assert.equal(links('[a](https://a.example/x?y=1#z) <mailto:a@b.example> https://c.example'), [
    'https://a.example/x?y=1#z',
    'mailto:a@b.example',
    'https://c.example/',
  ]);
});

test('where a link really leads is read by URL', () => {
  assert.equal(webLink('https://bank.example\\@evil.example/'), {
    href: 'https://bank.example/@evil.example/',
    host: 'bank.example',
  });
  assert.equal(webLink('HTTPS://EVIL.example:8443'), { href: 'https://evil.example:8443/', host: 'evil.example:8443' });
  assert.is(
    webLink('https://xn--80ak6aa92e.com/')?.host,
    'xn--80ak6aa92e.com',
    'foreign letters stay as they are sent',
  );
  assert.is(webLink('https://аррӏе.com/')?.host, 'xn--80ak6aa92e.com');
});

test('an image is its address as text', () => {
  const blocks = markdownBlocks('![track](https://evil.example/p.png?secret=1)', null);
  assert.equal(all(blocks, 'href'), []);
  assert.match(textOf(blocks), 'https://evil.example/p.png?secret=1');
});

test('what people write comes as they mean it', () => {
  const blocks = markdownBlocks(
    '# Title\n\n- [x] done\n- **bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nlet a\n```\n\n> quoted\n\n---',
    null,
  );
  assert.equal(
    blocks.map(({ type }) => type),
    ['heading', 'list', 'table', 'code', 'quote', 'rule'],
  );
  assert.equal(all(blocks, 'checked'), [true, null]);
});

test('deep nesting becomes text below a certain depth', () => {
  for (const text of [`${'>'.repeat(200)} deep`, `${'- '.repeat(100)}deep`, `${'**a '.repeat(200)}deep`]) {
    const blocks = markdownBlocks(text, null);
    assert.ok(all(blocks, 'children').length <= 90);
    assert.match(textOf(blocks), 'deep');
  }
});

test.run();
