/** A conversation whose texts are hard to find and to show: many scripts, signs of regular expressions, code, and texts that are folded. */
import { answeredBy, resulted, textBlock, userRecord, uses } from './transcript-records.ts';

/** What is found in it, by what is hard about it. */
export const SOUGHT: Readonly<Record<string, string>> = {
  'a word': 'harbour',
  'a part of an identifier': 'FileSync',
  'code with signs of a regular expression': 'a[0].match(/^(\\d+)\\.*$/)',
  'a call of a function': 'sum(x) => x + 1',
  'Greek, in other capital letters': 'ΚΑΛΗΜΈΡΑ',
  Greek: 'πρωΐν',
  'Chinese of two characters': '银行',
  Japanese: 'データベース',
  'words across marks of Markdown': 'the **whole** carry',
  'a text that a link hides': 'see [the notes](https://example.org/notes)',
  'a line in the middle of a folded result': 'line 437 of the long result',
  'the end of a very long text': 'needle-at-the-far-end',
  'folded thinking': 'the clock is what differs',
  'the new text of an edit': 'carry = next(carry)',
  'a value deep within an input': 'within "quotes"',
  'an error of a tool': 'ENOENT: no such file',
  'percent and underscore': '100%_done',
  'what marks up': '<b class="x">&amp;</b>',
};

/** A system prompt. */
export const SYSTEM = `${'You are the master of a harbour. '.repeat(200)}Never dock by night: the needle-of-the-system stays. ${'Then rest. '.repeat(200)}`;

/** What is found in it, and in the definition of a tool beside it. */
export const SOUGHT_IN_PROMPTS: Readonly<Record<string, string>> = {
  'a system prompt': 'needle-of-the-system',
  'what a system prompt repeats': 'master of a HARBOUR',
  'the definition of a tool': 'to the quay (by its number)',
};

export const TOOL = {
  name: 'Moor',
  description: 'Moors a ship to the quay (by its number), and reports "moored".',
  input_schema: { type: 'object', properties: { quay: { type: 'integer', description: 'The number of the quay' } } },
};

const LONG = Array.from({ length: 600 }, (_, n) => `line ${n} of the long result`).join('\n');
const VERY_LONG = `${'All of this is before it. '.repeat(10_000)}needle-at-the-far-end, and a little after it.`;

/** @param name begins the ids */
export function hardToFind(name: string): object[] {
  const records: object[] = [];
  let last = '';
  const edge = (): [string, string] => {
    const parent = last;
    last = `${name}-${records.length}`;
    return [parent, last];
  };
  const say = (content: unknown) => records.push(userRecord(edge(), records.length, content));
  const answer = (content: unknown[], stop_reason = 'end_turn') =>
    records.push(answeredBy(edge(), records.length, `msg_${name}_${records.length}`, content, { stop_reason }));
  say('At the harbour: Καλημέρα, 银行 opens at ten. Where is 中国银行? 100%_done');
  answer(
    [
      {
        type: 'thinking',
        thinking: `${'Let me see what is the same.\n'.repeat(30)}In the end the clock is what differs.\n`,
      },
      textBlock(
        'It drops **the** carry, that is the **whole** carry; see [the notes](https://example.org/notes) and `readFileSync`.',
      ),
      uses(`${name}-t1`, 'Bash', { command: "grep -rn 'a[0].match(/^(\\d+)\\.*$/)' src | head; sum(x) => x + 1" }),
      uses(`${name}-t2`, 'Read', { file_path: '/home/dev/harbour/long.txt' }),
      uses(`${name}-t3`, 'Edit', {
        ...{ file_path: '/home/dev/atlas/src/adder.ts' },
        ...{ old_string: 'let carry = 0;\nsum();', new_string: 'let carry = 0;\ncarry = next(carry);\nsum();' },
      }),
      uses(`${name}-t4`, 'Plan', { steps: [{ title: 'first', note: { text: 'a value deep\nwithin "quotes" here' } }] }),
    ],
    'tool_use',
  );
  say([
    resulted(`${name}-t1`, 'src/a.ts:4: a[0].match(/^(\\d+)\\.*$/) // データベース\nπρωΐν και Πρωΐν'),
    resulted(`${name}-t2`, LONG),
    { ...resulted(`${name}-t3`, 'ENOENT: no such file or directory'), is_error: true },
    resulted(`${name}-t4`, VERY_LONG),
  ]);
  answer([
    textBlock(
      'Done: <b class="x">&amp;</b> stays as it is.\n\n```ts\nconst text = readFileSync(path); // sum(x) => x + 1\n```\n',
    ),
  ]);
  for (let n = 0; n < 40; n++) {
    say(`Question ${n}: ${'and some words to fill the line '.repeat(n % 7)}`);
    answer([textBlock(`Answer ${n}. ${n % 10 === 3 ? 'The harbour again.' : 'Nothing to see.'}`)]);
  }
  return records;
}
