/** Starts the text worker. Its address is the only script that this page may make of a string. */
import type { TextWorker } from './formatter.ts';

type Policy = { createScriptURL(input: string): string };
type PolicyFactory = { createPolicy(name: string, rules: Policy): Policy };

const address = () => new URL(TEXT_WORKER, import.meta.url).href;

let policy: Policy | null = null;

/** null: this browser starts none. */
export function startTextWorker(): TextWorker | null {
  try {
    const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
    policy ??= factory?.createPolicy('svc-worker', { createScriptURL: address }) ?? { createScriptURL: address };
    return new Worker(policy.createScriptURL(''), { type: 'module' });
  } catch {
    return null;
  }
}
