/** The value of an option among the arguments of a harness, which svc only reads. */

/**
 * Of several the last, before a '--'. Null: there is none.
 * @param names as '--profile' and '-p'; after a short one the value may follow at once
 * @example
 * optionValue(['exec', '--profile=azure'], ['--profile', '-p']); // => 'azure'
 */
export function optionValue(args: readonly string[], names: readonly string[]): string | null {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  const values = own.flatMap((arg, at) => names.flatMap((name) => valueIn(arg, name, own[at + 1] ?? '')));
  return values.at(-1) ?? null;
}

function valueIn(arg: string, name: string, next: string): string[] {
  if (arg === name) return [next];
  if (arg.startsWith(`${name}=`)) return [arg.slice(name.length + 1)];
  const isShort = !name.startsWith('--');
  return isShort && arg.startsWith(name) ? [arg.slice(name.length)] : [];
}
