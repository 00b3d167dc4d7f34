/** The rows of the list of blocks: groups, and the blocks of those that are open. */
import type { CallContext, ContextBlock } from '../../../../../model/call-context.ts';
import { type Entry, entriesOf } from './block-changes.ts';
import { kindWord } from './kind-words.ts';

/** By what fills the prompt, in the order in which a provider caches it, or in the order of the request. */
export type BlockOrder = 'kind' | 'cache' | 'wire';

export type BlockGroup = { key: string; word: string; entries: Entry[] };

/** `open` is null for a block, which has nothing below it. */
export type BlockRow =
  | { type: 'group'; key: string; group: BlockGroup; open: boolean; place: number; siblings: number }
  | { type: 'block'; key: string; entry: Entry; open: null; place: number; siblings: number };

/** @param roots the members of the request in their order, such as `messages`; only the order on the wire needs them */
export function blockGroups(context: CallContext, order: BlockOrder, roots: readonly string[] = []): BlockGroup[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entriesOf(context)) {
    const key = keyOf(entry, order);
    const own = groups.get(key);
    if (own) own.push(entry);
    else groups.set(key, [entry]);
  }
  const made = [...groups].map(([key, entries]) => ({ key, word: wordOf(key, order), entries }));
  const inOrder = (keys: readonly string[]) =>
    made.toSorted((a, b) => placeIn(keys, a.key) - placeIn(keys, b.key) || weightOf(b) - weightOf(a));
  if (order === 'cache') return inOrder(SECTIONS);
  if (order === 'kind') return inOrder(CACHED_FIRST);
  return inOrder(['', ...roots]).map((group) => ({ ...group, entries: inPathOrder(group.entries) }));
}

const SECTIONS = ['tools', 'system', 'messages'];
const CACHED_FIRST = ['tool-definition', 'instructions'];

const placeIn = (keys: readonly string[], key: string): number =>
  keys.includes(key) ? keys.indexOf(key) : keys.length;

function keyOf({ block, gone }: Entry, order: BlockOrder): string {
  const own = block ?? gone;
  if (order === 'kind') return own.kind;
  return order === 'cache' ? own.section : (/^[^.[]*/.exec(own.path)?.[0] ?? '');
}

function wordOf(key: string, order: BlockOrder): string {
  if (order === 'kind') return kindWord(key);
  return key === '' ? kindWord('held') : key;
}

const weightOf = ({ entries }: BlockGroup): number =>
  entries.reduce((sum, { block }) => sum + (block?.tokens ?? 0), 0) ||
  entries.reduce((sum, { block }) => sum + (block?.bytes ?? 0) / 1e12, 0);

/** By the numbers in their paths; what is gone stays behind the block that it stood behind. */
function inPathOrder(entries: readonly Entry[]): Entry[] {
  const runs: Entry[][] = [];
  for (const entry of entries) {
    const last = runs.at(-1);
    if (entry.gone && last) last.push(entry);
    else runs.push([entry]);
  }
  const numbersOf = ([first]: Entry[]) => (first?.block?.path ?? '').match(/\d+/g)?.map(Number) ?? [];
  return runs.sort((a, b) => compared(numbersOf(a), numbersOf(b))).flat();
}

function compared(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return (a[i] ?? 0) - (b[i] ?? 0);
  return a.length - b.length;
}

/** @param toggled keys of groups that are not as they are at first: open, but for kinds @param changedOnly shows what changed, unfolded */
export function blockRows(
  groups: readonly BlockGroup[],
  { order, toggled, changedOnly }: { order: BlockOrder; toggled: ReadonlySet<string>; changedOnly: boolean },
): BlockRow[] {
  const shown = changedOnly
    ? groups
        .map((group) => ({ ...group, entries: group.entries.filter(({ change }) => change !== null) }))
        .filter(({ entries }) => entries.length > 0)
    : groups;
  return shown.flatMap((group, n) => {
    const isOpenAtFirst = order !== 'kind' || changedOnly;
    const open = isOpenAtFirst !== toggled.has(foldKey(group, { order, changedOnly }));
    const head: BlockRow = {
      type: 'group',
      key: `group ${group.key}`,
      group,
      open,
      place: n + 1,
      siblings: shown.length,
    };
    if (!open) return [head];
    const rows = group.entries.map((entry, place): BlockRow => {
      const siblings = group.entries.length;
      return { type: 'block', key: entryKey(entry), entry, open: null, place: place + 1, siblings };
    });
    return [head, ...rows];
  });
}

export const foldKey = (
  { key }: Pick<BlockGroup, 'key'>,
  { order, changedOnly }: { order: BlockOrder; changedOnly: boolean },
): string => `${order} ${changedOnly} ${key}`;

/** As the address names it: `12`, or `gone-3` of the other call. */
export const entryKey = ({ block, gone }: Entry): string => (block ? `${block.n}` : `gone-${gone?.n}`);

/** Where the page begins: what changed inside, else where the cache broke, else what is new. */
export function firstToShow(context: CallContext, entries: readonly Entry[]): Entry | null {
  const of = (op: string) => entries.find(({ change }) => change?.op === op);
  const broken = context.break?.where?.block;
  return of('change') ?? entries.find(({ block }) => block?.n === broken) ?? of('add') ?? null;
}

/** The largest first. */
export const biggest = (blocks: readonly ContextBlock[], count: number): ContextBlock[] =>
  blocks.toSorted((a, b) => (b.tokens ?? 0) - (a.tokens ?? 0) || b.bytes - a.bytes).slice(0, count);
