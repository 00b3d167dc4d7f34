/** All orders of a few things. */
export const permutations = <T>(of: readonly T[]): T[][] =>
  of.length === 0
    ? [[]]
    : of.flatMap((one, i) => permutations(of.filter((_, k) => k !== i)).map((rest) => [one, ...rest]));
