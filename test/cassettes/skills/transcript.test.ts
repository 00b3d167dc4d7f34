/** How much of a session a model is shown: never more than the share of it, whatever its steps are. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MASKED } from '../../../cassettes/skills/mask.ts';
import { fitting, type TranscriptStep, type Utterance } from '../../../cassettes/skills/transcript.ts';

const test = suite('transcript of a skill');
const FENCE = 160; // what the marks around an utterance cost in the prompt

const step = (spanId: string, ...texts: string[]): TranscriptStep => ({
  ...{ sessionId: 's', traceId: 't', spanId },
  utterances: texts.map((text, i): Utterance => ({ by: i === 0 ? 'user' : 'assistant', text })),
});
const textsIn = (steps: readonly TranscriptStep[]) =>
  steps.flatMap(({ utterances }) => utterances.map(({ text }) => text));
const sizeOf = (steps: readonly TranscriptStep[]) => textsIn(steps).reduce((sum, text) => sum + text.length + FENCE, 0);

test('a first step that is longer than the share is shown in part, from all that was said in it', () => {
  const long = step('a', 'q'.repeat(4_000), 'a'.repeat(3_000));
  for (const steps of [[long], [long, step('b', 'end')], [long, step('b', 'x'.repeat(9_000))]]) {
    const shown = fitting(steps, 1_200);
    assert.ok(sizeOf(shown) <= 1_200, `${sizeOf(shown)}`);
    assert.equal(
      shown[0]?.utterances.map(({ by, text }) => [by, text.slice(0, 3)]),
      [
        ['user', 'qqq'],
        ['assistant', 'aaa'],
      ],
    );
  }
  assert.is(fitting([long, step('b', 'end')], 1_200).at(-1)?.spanId, 'b', 'and the end is there');
});

test('in a share that has no room for a fence a few words are shown', () => {
  const long = step('a', 'q'.repeat(4_000), 'a'.repeat(3_000));
  assert.equal(textsIn(fitting([long, long], 66)), ['q'.repeat(39)]);
});

test('no text is cut within a mask or a character', () => {
  const text = `${MASKED}😀`.repeat(400);
  for (let characters = 240; characters < 900; characters += 1) {
    for (const shown of textsIn(fitting([step('a', text)], characters))) {
      const rest = shown.replaceAll(`${MASKED}`, '').replaceAll('😀', '');
      assert.match(rest, /^(\n\[… \d+ characters left out …\]\n)?$/);
    }
  }
});

test('whatever the steps are, they fit, and those that are whole stay in their order', () => {
  const text = fc.nat(5_000).map((length) => 'x'.repeat(length + 1));
  const steps = fc.array(fc.array(text, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 8 });
  void fc.assert(
    fc.property(steps, fc.integer({ min: 500, max: 20_000 }), (all, characters) => {
      const made = all.map((texts, i) => step(String(i), ...texts));
      const shown = fitting(made, characters);
      assert.ok(sizeOf(shown) <= characters, `${sizeOf(shown)} of ${characters}`);
      assert.is(shown[0]?.spanId, '0');
      const ids = shown.map(({ spanId }) => Number(spanId));
      assert.equal(
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
    }),
  );
});

test.run();
