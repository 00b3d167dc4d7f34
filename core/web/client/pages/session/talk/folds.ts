/** What is folded in Talk and what is open. It lasts as long as the page of the session does. */
import { type Signal, signal } from '@preact/signals';

/** What a fold holds; all of one kind can be opened and closed together. */
export type FoldKind = 'tool' | 'thinking' | 'context' | 'agent' | 'compaction' | 'tries';

export type Folds = {
  isOpen: (kind: FoldKind, id: string) => boolean;
  toggle: (kind: FoldKind, id: string) => void;
  /** A value that is another whenever a fold of the kind was opened or closed. */
  openOf: (kind: FoldKind) => string;
  /** Opens or closes all of a kind; those that were set one by one follow. */
  toggleAll: (kind: FoldKind) => boolean;
  /** Up to which character a long text is shown, and from which; 0: as at first. */
  shown: (id: string) => number;
  from: (id: string) => number;
  showMore: (id: string, characters: number, from?: number) => void;
  /** Blocks that are shown as they were recorded, by what `blockKey` makes of them. */
  plain: Signal<ReadonlySet<string>>;
  /** The text that was gone to: what hides it opens. */
  reveal: Signal<Reveal | null>;
  /** Whether calls beside the conversation have rows. */
  beside: Signal<boolean>;
};

/** A text within a block. */
export type Reveal = { key: string; start: number; match: string };

export function folds(): Folds {
  const all = signal<ReadonlySet<FoldKind>>(new Set());
  const others = signal<ReadonlySet<string>>(new Set()); // those that are not as all of their kind
  const shown = signal<ReadonlyMap<string, { from: number; to: number }>>(new Map());
  return {
    beside: signal(false),
    isOpen: (kind, id) => all.value.has(kind) !== others.value.has(`${kind} ${id}`),
    openOf: (kind) => `${all.value.has(kind)} ${[...others.value].filter((key) => key.startsWith(`${kind} `)).join()}`,
    toggle: (kind, id) => {
      others.value = toggled(others.value, `${kind} ${id}`);
    },
    toggleAll: (kind) => {
      all.value = toggled(all.value, kind);
      others.value = new Set([...others.value].filter((key) => !key.startsWith(`${kind} `)));
      return all.value.has(kind);
    },
    shown: (id) => shown.value.get(id)?.to ?? 0,
    from: (id) => shown.value.get(id)?.from ?? 0,
    showMore: (id, to, from = shown.peek().get(id)?.from ?? 0) => {
      shown.value = new Map(shown.value).set(id, { from, to });
    },
    plain: signal(new Set()),
    reveal: signal(null),
  };
}

function toggled<Member>(members: ReadonlySet<Member>, member: Member): ReadonlySet<Member> {
  const after = new Set(members);
  if (!after.delete(member)) after.add(member);
  return after;
}
