/** Can every colour of text be read on both grounds, in both themes? (WCAG 2.2, 1.4.3) */
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('contrast');
const css = readFileSync(new URL('../../../../core/web/client/style/tokens.css', import.meta.url), 'utf8');
const pairs = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', light = '', dark = '']) => [
    name,
    { light, dark },
  ]),
);
const INKS = [...pairs.keys()].filter((name) => !/^(?:page|panel|line)$|-ground$/.test(name));

const channel = (hex: string) => {
  const value = Number.parseInt(hex, 16) / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
};
const luminance = (color: string) =>
  0.2126 * channel(color.slice(1, 3)) + 0.7152 * channel(color.slice(3, 5)) + 0.0722 * channel(color.slice(5, 7));
const contrast = (a: string, b: string) => {
  const [lighter = 0, darker = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
};

test('the measure is the one of WCAG', () => {
  assert.is(contrast('#000000', '#ffffff'), 21);
  assert.ok(Math.abs(contrast('#777777', '#ffffff') - 4.48) < 0.01);
});

test('18 colours hold 4.5 to 1 on page and panel', () => {
  assert.is(INKS.length, 18);
  for (const ink of INKS)
    for (const ground of ['page', 'panel'])
      for (const theme of ['light', 'dark'] as const) {
        const ratio = contrast(pairs.get(ink)?.[theme] ?? '', pairs.get(ground)?.[theme] ?? '');
        assert.ok(ratio >= 4.5, `${ink} on ${ground}, ${theme}: ${ratio.toFixed(2)}`);
      }
});

test('so do those that stand on coloured grounds', () => {
  for (const [ink, ground] of [
    ['warn', 'warn-ground'],
    ['text', 'warn-ground'],
    ['text', 'added-ground'],
    ['ok', 'added-ground'],
    ['text', 'removed-ground'],
    ['error', 'removed-ground'],
    ['text', 'found-ground'],
  ] as const)
    for (const theme of ['light', 'dark'] as const) {
      const ratio = contrast(pairs.get(ink)?.[theme] ?? '', pairs.get(ground)?.[theme] ?? '');
      assert.ok(ratio >= 4.5, `${ink} on ${ground}, ${theme}: ${ratio.toFixed(2)}`);
    }
});

test.run();
