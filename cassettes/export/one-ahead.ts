/** Prefetch of one: the next value is requested while the current one is used, so that the database works meanwhile. */

/** Leaving the loop ends the source, after the pending value has come. */
export async function* oneAhead<T>(source: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  try {
    for (let pending = source.next(); ; ) {
      const { done, value } = await pending;
      if (done) return;
      pending = source.next();
      pending.catch(() => {}); // a failure is thrown where the value is awaited
      yield value;
    }
  } finally {
    await source.return();
  }
}
