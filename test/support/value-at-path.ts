/** The value at a path of a block, such as `messages[3].content[1]`. */
export const valueAtPath = (root: unknown, path: string): unknown =>
  [...path.matchAll(/[^.[\]]+/g)].reduce<unknown>(
    (value, [key]) => (value as Record<string, unknown> | undefined)?.[key],
    root,
  );
