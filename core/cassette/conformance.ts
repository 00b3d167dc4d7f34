/** Conformance checks, for the author of a cassette before anybody installs it: is it admitted, and does it keep to its document? */
import { retry } from '../retry.ts';
import { type AdmissionParts, admit } from './admission/admission.ts';
import { type DeclaredManifest, ownPrefix } from './admission/manifest.ts';
import { fetchUntil } from './fetch-until.ts';
import type { ListEntry } from './list/list.ts';
import { mountOf } from './openapi/rewrite.ts';
import { Rejection, type RunningCassette, STEPS } from './running.ts';

/** The result of one check; `problems` is empty when it passed. */
export type ConformanceResult = { what: string; problems: readonly string[] };

/** `refused`: it is not admitted. `faulty`: it is admitted, and does not keep to its document. */
export type Conformance = 'conforms' | 'faulty' | 'refused';

const REQUEST_MS = 10_000;
const RESTART_MS = 60_000;
/** How much of a body is read, and for how long. */
const MOST_BODY_BYTES = 1_048_576;
const BODY_MS = 1_000;

/**
 * Admits the cassette, under its own name and under a second one, and sends it requests. What it writes goes into the databases of
 * `parts`, which should hold nothing else. @param report called with each result as it comes
 */
export async function conform(
  entry: ListEntry,
  parts: AdmissionParts,
  report: (result: ConformanceResult) => void,
): Promise<Conformance> {
  let good = true;
  const record = (what: string, problems: readonly string[] = []) => {
    if (problems.length > 0) good = false;
    report({ what, problems });
  };
  const admission = await tryAdmission(entry, parts, record);
  if (!admission) return 'refused';
  const { running, document, manifest } = admission;
  let isBack = true;
  const check = async (what: string, work: () => Promise<string[]>) => {
    if (isBack) isBack = await untilAnswering(running);
    record(what, await work());
  };
  try {
    await check('it answers what it does not serve with 404', () => unknownPath(running, ownPrefix(manifest)));
    for (const operation of readable(document.document, entry.name, manifest))
      await check(`GET ${operation.path} answers as its document says`, () => declared(running, operation));
    for (const tool of document.tools)
      await check(`the tool ${tool.full_name} answers arguments that are empty without failing`, () =>
        toolCall(running, tool.path),
      );
    for (const { uri, variables, list } of document.resources)
      if (list) await check(`the resources ${uri} can be listed`, () => listed(running, list.path, variables));
    for (const { full_name, list } of document.prompts)
      if (list) await check(`the prompts ${full_name}… can be listed`, () => listed(running, list.path, []));
    if (running.loaded?.scheduled) await check('its background work runs', () => backgroundWork(running));
    record('it can be installed a second time under another name', await secondInstallation(entry, parts));
  } finally {
    await running.close(1_000);
  }
  return good ? 'conforms' : 'faulty';
}

/** The check before may have ended its process, or made it one that is about to be ended. @returns false: it did not answer in time */
async function untilAnswering(running: RunningCassette): Promise<boolean> {
  const signal = AbortSignal.timeout(RESTART_MS);
  const ping = async () => (await fetchUntil(running, '/ping', { signal })).body?.cancel();
  return retry(ping, { signal, firstMs: 100, maxMs: 1_000 }).then(
    () => true,
    () => false,
  );
}

async function tryAdmission(
  entry: ListEntry,
  parts: AdmissionParts,
  record: (what: string, problems?: readonly string[]) => void,
) {
  try {
    const admission = await admit(entry, parts, new AbortController().signal);
    for (const step of STEPS) record(STEP_FINDINGS[step]);
    return admission;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    for (const step of STEPS.slice(0, STEPS.indexOf(error.step))) record(STEP_FINDINGS[step]);
    record(STEP_FINDINGS[error.step], error.problems.length > 1 ? [error.message, ...error.problems] : [error.message]);
    return null;
  }
}

export const STEP_FINDINGS: Record<(typeof STEPS)[number], string> = {
  resolve: 'its source is there',
  digest: 'it is what was pinned',
  start: 'it loads, in a process of its own',
  manifest: 'its manifest is valid',
  name: 'its name can be taken',
  grants: 'it asks for no more than was granted',
  config: 'its settings are complete',
  openapi: 'its OpenAPI document is valid',
  tools: 'its tools can be offered',
  depends: 'what it depends on is served',
  migrate: 'its schema can be made',
  health: 'it is healthy',
};

type Operation = { path: string; statuses: readonly string[] };

/** Operations that can be called without knowing any values: GET without path parameters and without required parameters. */
function readable(document: Record<string, unknown>, installed: string, manifest: DeclaredManifest): Operation[] {
  const paths = (document.paths ?? {}) as Record<string, Record<string, Declared>>;
  return Object.entries(paths).flatMap(([path, item]) => {
    const { get } = item;
    const parameters = [...((item.parameters as unknown as Parameter[] | undefined) ?? []), ...(get?.parameters ?? [])];
    if (!get || path.includes('{') || parameters.some((one) => one.required || one.$ref)) return [];
    const own = path.replace(mountOf(installed), ownPrefix(manifest));
    return [{ path: own, statuses: Object.keys(get.responses ?? {}) }];
  });
}
type Parameter = { required?: boolean; $ref?: string };
type Declared = { parameters?: Parameter[]; responses?: Record<string, unknown> };

async function declared(running: RunningCassette, { path, statuses }: Operation): Promise<string[]> {
  const status = await statusOf(running, path);
  if (typeof status === 'string') return [status];
  const isDeclared = statuses.some(
    (one) => one === 'default' || one === String(status) || one.toUpperCase() === `${String(status)[0]}XX`,
  );
  return isDeclared ? [] : [`it answers ${status}, and its document names ${statuses.join(', ')}`];
}

async function unknownPath(running: RunningCassette, prefix: string): Promise<string[]> {
  const path = `${prefix}/there-is-no-such-path-here`;
  const status = await statusOf(running, path);
  return status === 404 ? [] : [typeof status === 'string' ? status : `it answers ${status} to ${path}`];
}

async function toolCall(running: RunningCassette, path: string): Promise<string[]> {
  const headers = { 'content-type': 'application/json' };
  const status = await statusOf(running, path, { method: 'POST', headers, body: '{}' });
  if (typeof status === 'string') return [status];
  return status === 500 || status === 404 || status === 405 ? [`it answers ${status} to POST ${path}`] : [];
}

/** @param members that each item has, beside its name */
async function listed(running: RunningCassette, path: string, members: readonly string[]): Promise<string[]> {
  const signal = AbortSignal.timeout(REQUEST_MS);
  try {
    const response = await fetchUntil(running, path, { signal });
    if (!response.ok) return [`it answers ${response.status} to GET ${path}`];
    const { items } = (await response.json()) as { items?: unknown };
    if (!Array.isArray(items)) return [`GET ${path} answers without a list "items"`];
    const lacking = ['name', ...members].filter((member) =>
      items.some((item) => !['string', 'number'].includes(typeof (item as Record<string, unknown> | null)?.[member])),
    );
    return lacking.map((member) => `GET ${path} answers with items that have no "${member}"`);
  } catch (error) {
    return [signal.aborted ? `no answer within ${REQUEST_MS / 1000} s` : (error as Error).message];
  }
}

/** The status of the response, or why there is none. The deadline is for its head: a live stream has no end. */
async function statusOf(running: RunningCassette, path: string, init: RequestInit = {}): Promise<number | string> {
  const deadline = new AbortController();
  const timeout = setTimeout(() => deadline.abort(), REQUEST_MS);
  try {
    const { status, body } = await fetchUntil(running, path, { ...init, signal: deadline.signal });
    clearTimeout(timeout);
    if (body) await readStart(body);
    return status;
  } catch (error) {
    return deadline.signal.aborted ? `no answer within ${REQUEST_MS / 1000} s` : (error as Error).message;
  } finally {
    clearTimeout(timeout);
  }
}

/** Reads the body for a moment, and cancels the rest. @throws what breaks it off within that time */
async function readStart(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const timeout = setTimeout(() => void reader.cancel().catch(() => {}), BODY_MS); // a read under way then ends as the body's end
  try {
    for (let bytes = 0; bytes <= MOST_BODY_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    await reader.cancel();
  } finally {
    clearTimeout(timeout);
  }
}

async function backgroundWork(running: RunningCassette): Promise<string[]> {
  try {
    await running.scheduled({ scheduled_at: Date.now(), signal: AbortSignal.timeout(REQUEST_MS) });
    return [];
  } catch (error) {
    return [`it threw: ${(error as Error).message}`];
  }
}

async function secondInstallation(entry: ListEntry, parts: AdmissionParts): Promise<string[]> {
  try {
    const { running } = await admit(
      { ...entry, name: `${entry.name.slice(0, 29)}-2` },
      parts,
      new AbortController().signal,
    );
    await running.close(1_000);
    return [];
  } catch (error) {
    if (error instanceof Rejection) return [error.message, ...error.problems];
    throw error;
  }
}
