/** Libraries that make calls without the signs of a harness, recognised by their `user-agent`. */
import { type HeaderList, wordOf } from '../model/headers.ts';
import { providers } from '../provider/providers.ts';

/** The first that is found decides: a framework stands before the SDK that it uses. `$1` is the version. */
const libraries: readonly (readonly [name: string, sign: RegExp])[] = [
  ['langchain-js', /^langchainjs[\w-]*\/([\w.+-]+)/],
  ['langchain-python', /^langchain[\w-]*(?:\/([\w.+-]+))?/],
  ['pydantic-ai', /^pydantic-ai\/([\w.+-]+)/],
  ['litellm', /^litellm\/([\w.+-]+)/],
  ['ai-sdk', /^ai\/([\w.+-]+)/],
  ['ai-sdk', /^ai-sdk\/[\w-]+\/([\w.+-]+)/],
  ...providers.flatMap(({ libraries }) => libraries),
];

const LONGEST = 512;

/** null: none that we know. */
export function libraryOf(headers: HeaderList): { name: string; version: string } | null {
  const agent = wordOf(headers, 'user-agent').slice(0, LONGEST);
  for (const [name, sign] of libraries) {
    const found = sign.exec(agent);
    if (found) return { name, version: found[1] ?? '' };
  }
  return null;
}

const NAMES = new Set(libraries.map(([name]) => name));

/** Whether a name is that of a library and not of who uses it. */
export const isLibrary = (name: string): boolean => NAMES.has(name);

/** The name of what makes a call: a harness detected in the call's content takes precedence over a library. */
export const agentName = (declared: string, detected: string): string =>
  declared === '' || isLibrary(declared) ? detected || declared : declared;
