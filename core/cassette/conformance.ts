/** Will a cassette be let in, and does it keep what its document says? What its author asks before anybody installs it. */
import { type AdmissionParts, admit } from './admission.ts';
import type { ListEntry } from './list.ts';
import { type DeclaredManifest, ownPrefix } from './manifest.ts';
import { mountOf } from './rewrite.ts';
import { Rejection, type RunningCassette, STEPS } from './running.ts';

/** `problems` is empty where it holds. */
export type Finding = { what: string; problems: readonly string[] };

const ASK_MS = 10_000;
const LOOKED_AT_BYTES = 1_048_576;

/**
 * Lets it in, under its own name and under another one beside it, and asks it. What it writes goes into the databases of `parts`,
 * which should be there for nothing else. @param heard each finding as it is made
 */
export async function conform(
  entry: ListEntry,
  parts: AdmissionParts,
  heard: (finding: Finding) => void,
): Promise<boolean> {
  let good = true;
  const found = (what: string, problems: readonly string[] = []) => {
    if (problems.length > 0) good = false;
    heard({ what, problems });
  };
  const taken = await admitted(entry, parts, found);
  if (!taken) return false;
  const { running, document, manifest } = taken;
  try {
    found('it answers what it does not serve with 404', await unknownPath(running, ownPrefix(manifest)));
    for (const operation of readable(document.document, entry.name, manifest))
      found(`GET ${operation.path} answers as its document says`, await declared(running, operation));
    for (const tool of document.tools)
      found(
        `the tool ${tool.full_name} answers arguments that are empty without failing`,
        await toolCall(running, tool.path),
      );
    if (running.loaded?.scheduled) found('its background work runs', await backgroundWork(running));
    found('it can be installed a second time under another name', await secondInstallation(entry, parts));
  } finally {
    await running.close(1_000);
  }
  return good;
}

async function admitted(
  entry: ListEntry,
  parts: AdmissionParts,
  found: (what: string, problems?: readonly string[]) => void,
) {
  try {
    const taken = await admit(entry, parts, new AbortController().signal);
    for (const step of STEPS) found(STEP_SAYS[step]);
    return taken;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    for (const step of STEPS.slice(0, STEPS.indexOf(error.step))) found(STEP_SAYS[step]);
    found(STEP_SAYS[error.step], error.problems.length > 1 ? [error.message, ...error.problems] : [error.message]);
    return null;
  }
}

const STEP_SAYS: Record<(typeof STEPS)[number], string> = {
  resolve: 'its source is there',
  digest: 'it is what was pinned',
  start: 'it loads, in a process of its own',
  manifest: 'its manifest is valid',
  name: 'its name can be taken',
  grants: 'it asks for no more than was granted',
  config: 'its settings are complete',
  openapi: 'its OpenAPI document is valid',
  depends: 'what it depends on is served',
  tools: 'its tools can be offered',
  migrate: 'its schema can be made',
  health: 'it is healthy',
};

type Operation = { path: string; statuses: readonly string[] };

/** What can be asked without knowing anything: GET without path parameters and without parameters that are required. */
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
  const status = await asked(running, new Request(`http://cassette${path}`, { signal: AbortSignal.timeout(ASK_MS) }));
  if (typeof status === 'string') return [status];
  const says = statuses.some(
    (one) => one === 'default' || one === String(status) || one.toUpperCase() === `${String(status)[0]}XX`,
  );
  return says ? [] : [`it answers ${status}, and its document names ${statuses.join(', ')}`];
}

async function unknownPath(running: RunningCassette, prefix: string): Promise<string[]> {
  const path = `${prefix}/there-is-no-such-path-here`;
  const status = await asked(running, new Request(`http://cassette${path}`, { signal: AbortSignal.timeout(ASK_MS) }));
  return status === 404 ? [] : [typeof status === 'string' ? status : `it answers ${status} to ${path}`];
}

async function toolCall(running: RunningCassette, path: string): Promise<string[]> {
  const request = new Request(`http://cassette${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    signal: AbortSignal.timeout(ASK_MS),
  });
  const status = await asked(running, request);
  if (typeof status === 'string') return [status];
  return status === 500 || status === 404 || status === 405 ? [`it answers ${status} to POST ${path}`] : [];
}

/** Its status, or why there is none. */
async function asked(running: RunningCassette, request: Request): Promise<number | string> {
  try {
    const { status, body } = await running.fetch(request);
    let bytes = 0;
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > LOOKED_AT_BYTES) break; // which cancels the rest
    }
    return status;
  } catch (error) {
    return request.signal.aborted ? `no answer within ${ASK_MS / 1000} s` : (error as Error).message;
  }
}

async function backgroundWork(running: RunningCassette): Promise<string[]> {
  try {
    await running.scheduled({ scheduled_at: Date.now(), signal: AbortSignal.timeout(ASK_MS) });
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
