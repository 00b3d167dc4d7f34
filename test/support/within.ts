/** Bounds a wait: what does not settle in time fails with its name, and not by the time limit of the whole run. */

export async function within<T>(ms: number, what: string, waited: Promise<T>): Promise<T> {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timeout = setTimeout(() => reject(new Error(`Cannot wait longer than ${ms / 1000} s: ${what}`)), ms);
  });
  return Promise.race([waited, late]).finally(() => clearTimeout(timeout));
}
