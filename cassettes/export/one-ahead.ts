/** How does the database work while the line before is told? What comes next is asked for ahead, one of them and no more. */

/** Leaving the loop ends the source, once what was asked for has come. */
export async function* oneAhead<T>(source: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  try {
    for (let coming = source.next(); ; ) {
      const { done, value } = await coming;
      if (done) return;
      coming = source.next();
      coming.catch(() => {}); // heard of when its turn comes
      yield value;
    }
  } finally {
    await source.return();
  }
}
