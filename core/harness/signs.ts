/** What harnesses share in reading the signs by which they are recognised, in headers and body. */
import { parsed } from '../provider/json.ts';
import type { HarnessSigns } from './harness.ts';

export const noSigns: Omit<HarnessSigns, 'harness_id'> = {
  harness_session_id: '',
  harness_version: '',
  parent_harness_session_id: '',
  parent_thread_id: '',
  harness_metadata: null,
};

/** The version in a `user-agent` that begins with `<product>/`; ''. */
export const versionIn = (agent: string, product: string): string =>
  agent.startsWith(`${product}/`) ? (agent.slice(product.length + 1).split(/[\s(]/)[0] ?? '') : '';

/** The object of a JSON text; null: none. */
export const objectIn = (json: string): unknown => (json.startsWith('{') ? (parsed(json) ?? null) : null);

/** An id out of a body: printable and short, else ''. */
export const idOf = (value: unknown): string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value) ? value : '';
