import stringWidth from 'fast-string-width';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shortened, type TableColumn, table } from '../../../../core/cli/record/table.ts';

const test = suite('tables');

type Row = { id: string; title: string; model: string; cost: string };
const COLUMNS: TableColumn<Row>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'TITLE', text: ({ title }) => title, fills: true },
  { title: 'MODEL', text: ({ model }) => model, drops: 1 },
  { title: 'COST', text: ({ cost }) => cost, align: 'right' },
];
const ROWS: Row[] = [
  { id: 'a1', title: 'Find the leak in the notification worker before it is killed', model: 'opus', cost: '$0.1182' },
  { id: 'b2', title: '港の時刻表を直す', model: 'haiku', cost: '?' },
];

test('columns are aligned by cells, also where a character takes two, and nothing is cut without a terminal', () => {
  assert.equal(table(ROWS, COLUMNS, undefined).split('\n'), [
    'ID  TITLE                                                         MODEL     COST',
    'a1  Find the leak in the notification worker before it is killed  opus   $0.1182',
    `b2  港の時刻表を直す${' '.repeat(44)}  haiku        ?`,
    '',
  ]);
});

test('in a terminal the filling column is cut, and what drops goes before that gets too narrow', () => {
  const [head = '', first = ''] = table(ROWS, COLUMNS, 60).split('\n');
  assert.match(head, /^ID {2}TITLE +MODEL +COST$/);
  assert.match(first, /^a1 {2}Find the leak in the notification work\S*… {2}opus {3}\$0\.1182$/);
  assert.is(first.length, 60);
  const [narrow = '', second = ''] = table(ROWS, COLUMNS, 46).split('\n');
  assert.match(narrow, /^ID {2}TITLE +COST$/);
  assert.match(second, /^a1 {2}Find the leak in the \S.*… +\$0\.1182$/);
  assert.is(second.length, 46);
});

test('once nothing more can go the filling column takes what is left', () => {
  for (const width of [40, 24, 16]) {
    const lines = table(ROWS, COLUMNS, width).trimEnd().split('\n');
    assert.match(lines[1] ?? '', /^a1 {2}F.*… +\$0\.1182$/);
    for (const line of lines) assert.ok(stringWidth(line) <= width, line);
  }
});

test('foreign text can neither colour nor move the cursor', () => {
  const [, line = ''] = table([{ ...ROWS[0], title: '\u001b[31mred\u001b[0m\nnext' } as Row], COLUMNS, 80).split('\n');
  assert.not.ok(line.includes('\u001b'));
  assert.match(line, 'next');
});

test('a cut never splits a character', () => {
  assert.is(shortened('👩‍👩‍👧‍👧 family', 3), '👩‍👩‍👧‍👧…');
  assert.is(shortened('港の時刻表', 6), '港の…');
  assert.is(shortened('short', 5), 'short');
});

test.run();
