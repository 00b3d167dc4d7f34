/** Which command a key means: names of keys, and commands of two strokes. */

export type KeyCommand = {
  /** What it does, in a few words, for the sheet of keys. */
  does: string;
  /** @returns false: not now, so the browser does what it does with the key */
  run: (event: KeyboardEvent) => unknown;
};

/** Commands by key, as `j`, `Escape`, `Ctrl+f`, or two strokes as `g s`. */
export type KeyCommands = Readonly<Record<string, KeyCommand>>;

const SECOND_WITHIN_MS = 1_000;

export type Stroke = {
  /** The command that the stroke means; null: none, or not yet. */
  command: KeyCommand | null;
  /** The key, when it is the first of two; '': it is not. */
  begins: string;
  at: number;
};

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/** As commands are written. What Shift makes of a key is in the key already; the command key of a Mac is its Ctrl. */
export function keyName({ key, ctrlKey, metaKey, altKey }: Key): string {
  const name = [...key].length === 1 && (ctrlKey || metaKey) ? key.toLowerCase() : key;
  return `${ctrlKey || metaKey ? 'Ctrl+' : ''}${altKey ? 'Alt+' : ''}${name}`;
}

/** What a key does, by the names of keys; undefined: nothing, as when Alt or Ctrl is held, with which it may be the browser's own. */
export function moveOf<Move>(moves: Readonly<Record<string, Move>>, event: Key): Move | undefined {
  const name = keyName(event);
  return Object.hasOwn(moves, name) ? moves[name] : undefined;
}

/** @param groups commands that are looked through in this order @param at milliseconds */
export function strokeOf(before: Stroke | null, name: string, at: number, groups: readonly KeyCommands[]): Stroke {
  if (before?.begins && at - before.at <= SECOND_WITHIN_MS) {
    const second = commandOf(`${before.begins} ${name}`, groups);
    if (second) return { command: second, begins: '', at };
  }
  const command = commandOf(name, groups);
  const begins = !command && groups.some((group) => Object.keys(group).some((key) => key.startsWith(`${name} `)));
  return { command, begins: begins ? name : '', at };
}

function commandOf(key: string, groups: readonly KeyCommands[]): KeyCommand | null {
  const group = groups.find((each) => Object.hasOwn(each, key));
  return group?.[key] ?? null;
}
