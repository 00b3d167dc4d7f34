/** The beginnings that prompts share: a tree of their blocks, in which the earlier call with the longest common one is found in one walk. */

export type Prefixes<Call> = {
  /** @returns how many blocks at the beginning were seen before, and the newest call that begins with them; null: there is no call */
  longest(ids: readonly number[]): { common: number; call: Call } | null;
  /** The newest call that begins with the first `length` blocks; null: there is none. */
  newest(ids: readonly number[], length: number): Call | null;
  /** The marks that calls have set at the first `length` of these blocks. */
  marks(ids: readonly number[], length: number): readonly CacheMark[];
  /** Adds a call, newer than those before, with the marks of its prompt. */
  add(ids: readonly number[], call: Call, marks: readonly CacheMark[]): void;
};

export type Lifetime = '5m' | '1h';
/** `block`: the marked one, 0 first. `ttl`: of what is kept up to it. `written`: by this call; else an earlier one wrote it, for as long as that said. */
export type CacheMark = { block: number; ttl: Lifetime; written: boolean };

/** Blocks that all calls below share, which stand from `from` up to `to` in their prompts; nobody turns off within them. */
type Node<Call> = {
  ids: readonly number[];
  from: number;
  to: number;
  newest: Call | null;
  marks: CacheMark[]; // within these blocks, in their order
  children: Map<number, Node<Call>>; // by their first block
};

export function openPrefixes<Call>(): Prefixes<Call> {
  const root: Node<Call> = { ids: [], from: 0, to: 0, newest: null, marks: [], children: new Map() };

  /** The nodes along these blocks, with how many blocks are the same up to somewhere in the last of them. */
  const walk = (ids: readonly number[], length: number): { path: Node<Call>[]; common: number } => {
    const path = [root];
    let common = 0;
    for (let node: Node<Call> | undefined = root; common < length; ) {
      node = node.children.get(ids[common] as number);
      if (!node) break;
      path.push(node);
      common = sameUpTo(ids, node, Math.min(length, node.to));
      if (common < node.to) break;
    }
    return { path, common };
  };

  return {
    longest(ids) {
      const { path, common } = walk(ids, ids.length);
      const call = path.at(-1)?.newest ?? null;
      return call === null ? null : { common, call };
    },
    newest(ids, length) {
      const { path, common } = walk(ids, length);
      return common < length ? null : (path.at(-1)?.newest ?? null);
    },
    marks(ids, length) {
      const { path, common } = walk(ids, length);
      return path.flatMap(({ marks }) => marks.filter(({ block }) => block < common));
    },
    add(ids, call, marks) {
      root.newest = call;
      for (let node = root; node.to < ids.length; ) {
        const next = childAlong(node, ids);
        next.newest = call;
        for (const mark of marks) if (mark.block >= next.from && mark.block < next.to) setMark(next.marks, mark);
        node = next;
      }
    },
  };
}

/** Up to which place the node's blocks are these; all before it are. */
function sameUpTo<Call>(ids: readonly number[], node: Node<Call>, end: number): number {
  let i = node.from;
  while (i < end && ids[i] === node.ids[i - node.from]) i++;
  return i;
}

/** The child whose blocks are all among these: there, split off one that goes on otherwise, or new. */
function childAlong<Call>(node: Node<Call>, ids: readonly number[]): Node<Call> {
  const first = ids[node.to] as number;
  const child = node.children.get(first);
  const to = child ? sameUpTo(ids, child, Math.min(ids.length, child.to)) : ids.length;
  if (child && to === child.to) return child;
  const own = ids.slice(node.to, to); // no node holds on to a whole prompt
  const added: Node<Call> = { ids: own, from: node.to, to, newest: null, marks: [], children: new Map() };
  node.children.set(first, added);
  if (child) {
    added.marks = child.marks.filter(({ block }) => block < to);
    child.marks = child.marks.filter(({ block }) => block >= to);
    child.ids = child.ids.slice(to - child.from);
    child.from = to;
    added.children.set(child.ids[0] as number, child);
  }
  return added;
}

function setMark(marks: CacheMark[], mark: CacheMark): void {
  const at = marks.findIndex(({ block }) => block >= mark.block);
  if (at === -1) marks.push(mark);
  else if (marks[at]?.block !== mark.block) marks.splice(at, 0, mark);
  else if (mark.written) marks[at] = mark;
}

/** Numbers for ids, the same for the same. */
export function numbering(): (id: string) => number {
  const numbers = new Map<string, number>();
  return (id) => {
    const known = numbers.get(id);
    if (known !== undefined) return known;
    numbers.set(id, numbers.size);
    return numbers.size - 1;
  };
}
