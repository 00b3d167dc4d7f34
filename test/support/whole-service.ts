/** The whole service in a test: the real `svc serve` with a scripted provider, on each kind of database, and what it then shows. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { isCitus } from './citus-cluster.ts';
import { emptyServerDatabase, templateFolder } from './databases.ts';
import { type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from './serve.ts';

export type Stand = {
  provider: ScriptedProvider;
  service: Service;
  folder: string;
  /** '': the embedded database, in `.svc` of the folder. */
  dsn: string;
  /** Starts it again, once it has been stopped. */
  start(): Promise<Service>;
};

/** Environment variables of the service besides those for its database and its providers, and what has to run for them. */
type Extra = Record<string, string> | (() => Promise<{ env: Record<string, string>; close(): Promise<unknown> }>);

/**
 * Declares a suite twice: `<name> (embedded)` and `<name> (server)`. Without SVC_TEST_DSN the second is skipped, and reports that.
 * @param define ends with `test.run()`
 */
export function onEachDatabase(name: string, define: (test: Test<Stand>) => void, extra: Extra = {}): void {
  onEmbeddedDatabase(name, define, extra);
  onServerDatabase(name, define, extra);
}

/** Declares only the second suite. */
export function onServerDatabase(name: string, define: (test: Test<Stand>) => void, extra: Extra = {}): void {
  const cluster = process.env.SVC_TEST_DSN;
  if (cluster) declare(`${name} (server)`, define, () => emptyServerDatabase(cluster), extra);
  else console.log(`skip: ${name} (server): SVC_TEST_DSN is not set`);
}

/** Declares only the first suite, for tests that do not depend on the kind of database. */
export function onEmbeddedDatabase(name: string, define: (test: Test<Stand>) => void, extra: Extra = {}): void {
  if (isCitus(process.env.SVC_TEST_DSN ?? '')) return; // a cluster is for the other suites
  declare(`${name} (embedded)`, define, async () => ({ dsn: '', drop: async () => {} }), extra);
}

/** A hook that prints why it failed, which uvu keeps to itself. */
export const printing =
  <Context>(hook: (context: Context) => Promise<void>) =>
  async (context: Context): Promise<void> => {
    try {
      await hook(context);
    } catch (thrown) {
      console.log('Cannot prepare the suite:', thrown);
      throw thrown;
    }
  };

function declare(
  name: string,
  define: (test: Test<Stand>) => void,
  makeDatabase: () => Promise<{ dsn: string; drop(): Promise<unknown> }>,
  extra: Extra,
): void {
  const test = suite<Stand>(name);
  const undo: (() => Promise<unknown>)[] = []; // what was set up is torn down even when the rest failed
  test.before(
    printing(async (context) => {
      const { dsn, drop } = await makeDatabase();
      undo.unshift(drop);
      const provider = await startScriptedProvider();
      undo.unshift(provider.close);
      const folder = await emptyFolder();
      undo.unshift(() => removeFolder(folder));
      const beside = typeof extra === 'function' ? await extra() : { env: extra, close: async () => {} };
      undo.unshift(beside.close);
      if (dsn === '') await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
      const start = async () => {
        context.service = await startService(folder, {
          SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
          SVC_PROXY_UPSTREAMS_GEMINI: provider.url,
          SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
          SVC_PROXY_UPSTREAMS_OLLAMA: provider.url,
          ...(dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn }),
          ...beside.env,
        });
        return context.service;
      };
      Object.assign(context, { dsn, provider, folder, start });
      await start();
      undo.unshift(async () => assert.is(await context.service.stop(), 0, 'svc serve ends with status 0 on SIGTERM'));
    }),
  );
  test.after(async () => {
    for (const step of undo) await step();
  });
  define(test);
}

export type Block = {
  type: string;
  text?: string;
  thinking?: string;
  tool_input?: unknown;
  tool_output?: string;
  media_type?: string;
  image_base64?: string;
};
export type Usage = {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  reasoning_tokens: number;
  cost_usd: number | null;
  unpriced_models?: string[];
};
export type Span = {
  span_id: string;
  kind: string;
  name: string;
  status: string;
  error_type?: string;
  stop_reason: string;
  external_id?: string;
  input: Block[];
  output: Block[];
  usage: Usage;
  node_hash?: string;
};
export type Trace = {
  trace_id: string;
  user_prompt: string;
  response_preview?: string;
  status: string;
  usage: Usage;
};
export type Session = {
  id: string;
  harness_id: string;
  harness_session_id: string;
  fork_of_session_id?: string;
  rollup: {
    status: string;
    preview?: string;
    turn_count: number;
    kind_counts: Record<string, number>;
    usage: Usage;
  };
};
export type Recorded = {
  session: Session;
  traces: { trace: Trace; spans: Span[] }[];
  links: { kind: string; from_span_id: string; to_span_id: string }[];
};

export const sessionsOf = async ({ api }: Service): Promise<Session[]> =>
  (await read<{ items: Session[] }>(`${api}/v1/sessions?limit=200`)).items;

/** The steps of a session that are calls of a model, in their order. */
export const callsOf = ({ traces }: Recorded): Span[] =>
  traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'llm'));

/**
 * The whole document of the one session that began with this question, once it has that many calls and its rollup, which is read a
 * moment before them, counts each.
 * @throws when several sessions began with it
 */
export const recorded = (service: Service, opening: string, calls: number): Promise<Recorded> =>
  eventually(`${calls} calls in the session that began with "${opening}"`, async () => {
    const begun = (await sessionsOf(service)).filter(({ rollup }) => rollup.preview === opening);
    assert.ok(begun.length < 2, `${begun.length} sessions began with "${opening}"`);
    const session = begun[0] && (await read<Recorded>(`${service.api}/v1/sessions/${begun[0].id}/traces`));
    const rolledUp = Object.values(session?.session.rollup.kind_counts ?? {}).reduce((sum, count) => sum + count, 0);
    return session && rolledUp >= calls && callsOf(session).length === rolledUp && session;
  });
