/** References of an outline: spans that parents and links name, some of which are in another session or in a page that comes later. */
import type { Outline } from '../../../model/outline.ts';

/** `kind` is an index of names, `from` and `to` are references. */
export type LinkTable = { count: number; kind: Int32Array; from: Int32Array; to: Int32Array };

type Other = Outline['others'][number];

export type References = {
  others: Other[];
  own: (reference: number) => number; // of a reference as the answer has it
  settled: (reference: number) => number; // of one from before, whose span may have come
};

/**
 * @param indexOf the index of a span, the answer's own included; undefined: it is not here
 * @param at the indexes of the answer's spans, in its order
 */
export function references(
  before: readonly Other[],
  answer: Pick<Outline, 'others'>,
  indexOf: (other: Other) => number | undefined,
  at: readonly number[],
): References {
  const others = [...before];
  const known = new Map(before.map(({ trace_id, span_id }, n) => [trace_id + span_id, n]));
  const arrived = before.map((other) => indexOf(other));
  const foreign = answer.others.map((other) => {
    const index = indexOf(other);
    if (index !== undefined) return index;
    const key = other.trace_id + other.span_id;
    const n = known.get(key) ?? others.push(other) - 1;
    known.set(key, n);
    return -2 - n;
  });
  return {
    others,
    own: (reference) =>
      reference < 0 ? -1 : ((reference < at.length ? at[reference] : foreign[reference - at.length]) ?? -1),
    settled: (reference) => (reference < -1 ? (arrived[-2 - reference] ?? reference) : reference),
  };
}

/** The links after an answer, which has all those that touch its spans. @param touched the indexes of its spans */
export function linksAfter(
  before: LinkTable | undefined,
  answer: Outline['links'],
  { own, settled }: References,
  renamed: readonly number[],
  touched: ReadonlySet<number>,
): LinkTable {
  const most = (before?.count ?? 0) + answer.kind.length;
  const links = { count: 0, kind: new Int32Array(most), from: new Int32Array(most), to: new Int32Array(most) };
  const add = (kind: number, from: number, to: number) => {
    links.kind[links.count] = kind;
    links.from[links.count] = from;
    links.to[links.count++] = to;
  };
  for (let i = 0; i < (before?.count ?? 0); i++) {
    const [from, to] = [settled(before?.from[i] ?? -1), settled(before?.to[i] ?? -1)];
    const isHere = from >= -1 && to >= -1; // others come again: with each answer those to other sessions, else with their other end
    if (isHere && !touched.has(from) && !touched.has(to)) add(before?.kind[i] ?? 0, from, to);
  }
  answer.kind.forEach((kind, i) => {
    add(renamed[kind] ?? 0, own(answer.from[i] ?? -1), own(answer.to[i] ?? -1));
  });
  const { count, kind, from, to } = links;
  return { count, kind: kind.subarray(0, count), from: from.subarray(0, count), to: to.subarray(0, count) };
}
