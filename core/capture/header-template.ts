/** Header templates: nearly equal sets of headers share one template; only values that change from call to call are stored apart. */
import { CHANGING_HEADERS } from '../harness/harnesses.ts';
import type { HeaderList } from '../model/headers.ts';
import { sliceId } from './slice-codec.ts';

/** `bytes` is JSON: [[name, value | null], …] in the order and case of the wire; null is filled from `values`, in order. */
export type HeaderTemplate = { slice_id: string; bytes: Uint8Array; values: string[] };

/** Headers whose value differs on nearly every call. A name that is missing here costs storage; nothing is lost. */
const CHANGING = new Set([
  'age',
  'b3',
  'cf-ray',
  'content-length',
  'date',
  'etag',
  'expires',
  'idempotency-key',
  'last-modified',
  'openai-processing-ms',
  'retry-after',
  'server-timing',
  'traceparent',
  'traceresponse',
  'tracestate',
  'x-amz-cf-id',
  'x-amzn-requestid',
  'x-amzn-trace-id',
  'x-client-request-id',
  'x-cloud-trace-context',
  'x-envoy-upstream-service-time',
  'x-stainless-retry-count',
  ...CHANGING_HEADERS,
]);
const CHANGING_KINDS = /request-id$|ratelimit|^x-b3-/;

export function headerTemplate(headers: HeaderList): HeaderTemplate {
  const values: string[] = [];
  const template = headers.map(([name, value]) => {
    const lower = name.toLowerCase();
    if (!CHANGING.has(lower) && !CHANGING_KINDS.test(lower)) return [name, value];
    values.push(value);
    return [name, null];
  });
  const bytes = Buffer.from(JSON.stringify(template));
  return { slice_id: sliceId(bytes), bytes, values };
}

/** Restores the headers exactly as they were. */
export function headersFrom(template: Uint8Array, values: readonly string[]): HeaderList {
  const remaining = values.values();
  return (JSON.parse(Buffer.from(template).toString('utf8')) as [string, string | null][]).map(([name, value]) => [
    name,
    value ?? remaining.next().value ?? '',
  ]);
}
