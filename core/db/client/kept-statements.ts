/**
 * Statements of the embedded database that keep their plan: to parse and plan a short read takes three times as long as to run it. PGlite's own
 * `query` plans each anew, and sends six messages where one does.
 */
import { type PGlite, parse, protocol } from '@electric-sql/pglite';
import { bindMessage } from './bind-message.ts';
import type { WireStatement } from './wire-text.ts';

export type KeptStatements = {
  /** The rows of one statement, outside or inside a transaction. @throws as PostgreSQL refuses it */
  rows<Row extends Record<string, unknown>>(statement: WireStatement): Promise<Row[]>;
};

/** A statement is kept when it comes the second time, while it is among the last so many that came. A plan takes some 100 KB. */
const MOST_KEPT = 64;

/**
 * Plans are made for tables as large as they were then, and nothing else renews them where a table grows from nothing: after so many
 * statements, some seconds of work, all are made anew.
 */
const RENEWED_AFTER = 500;

const { serialize } = protocol;

export function keptStatements(pglite: PGlite): KeptStatements {
  const names = new Map<string, string | null>(); // by text, the last used last; null: it came once
  let named = 0;
  let sincePlanned = 0;

  /** What is to be sent before the statement, and its name; '' for one that is not kept. */
  function known(text: string): { messages: Uint8Array[]; name: string } {
    const before = names.get(text);
    const messages: Uint8Array[] = [];
    names.delete(text);
    if (before === undefined) {
      for (const [oldest, name] of names) {
        if (names.size < MOST_KEPT) break;
        names.delete(oldest);
        if (name !== null) messages.push(serialize.close({ type: 'S', name }));
      }
      names.set(text, null);
      return { messages: [...messages, serialize.parse({ text })], name: '' };
    }
    const name = before ?? `kept_${++named}`;
    names.set(text, name);
    return { messages: before === null ? [serialize.parse({ name, text })] : [], name };
  }

  async function run<Row>({ text, parameters }: WireStatement): Promise<Row[]> {
    if (++sincePlanned > RENEWED_AFTER) {
      sincePlanned = 0;
      await send(serialize.query('discard plans'));
    }
    const { messages, name } = known(text);
    try {
      const responses = await send(
        ...messages,
        bindMessage(name, parameters),
        serialize.describe({ type: 'P' }),
        serialize.execute({}),
        serialize.sync(),
      );
      return (parse.parseResults(responses, pglite.parsers)[0]?.rows ?? []) as Row[];
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) await forget(text); // it may have failed before it was kept
      throw error;
    }
  }

  async function forget(text: string): Promise<void> {
    const name = names.get(text);
    names.delete(text);
    if (name) await send(serialize.close({ type: 'S', name }), serialize.sync());
  }

  const send = (...messages: Uint8Array[]) => pglite.execProtocolStream(Buffer.concat(messages), { syncToFs: false });

  // PGlite's own statements take the same mutex: of `listen`, of a transaction's begin and end, of cassettes.
  return { rows: (statement) => pglite.runExclusive(() => run(statement)) };
}
