/** Builds the calls of a session as derivation reads them: state what each request holds; which messages are fresh follows from it. */
import { createHash } from 'node:crypto';
import { compareKeys } from '../../core/derive/order.ts';
import type { CallTurn, FreshMessage } from '../../core/derive/turn.ts';
import { noSurroundings } from '../../core/harness/surroundings.ts';
import type { MessageRole } from '../../core/model/bucket.ts';
import type { ContentBlock } from '../../core/model/content-block.ts';
import type { Reply } from '../../core/model/reply.ts';
import { noUsage, type Usage } from '../../core/model/usage.ts';

export type SpokenMessage = { role: MessageRole; content: ContentBlock[]; injected: string };
export type Answer = Partial<Omit<Reply, 'content' | 'usage'>> & {
  content: ContentBlock[];
  usage?: Partial<Usage> | null;
};
export type Call = Partial<Omit<CallTurn, 'fresh' | 'tip_hash' | 'leaf_hash' | 'reply' | 'identity'>> & {
  at: number; // seconds after nine o'clock
  says?: SpokenMessage[];
  answers?: Answer | null;
  identity?: Partial<CallTurn['identity']>;
};

export const SESSION = '0d8f7e6a-1111-5222-8333-444455556666';

export const text = (words: string): ContentBlock => ({ type: 'text', text: words });
export const user = (...content: (string | ContentBlock)[]): SpokenMessage => messageOf('user', content);
export const system = (...content: (string | ContentBlock)[]): SpokenMessage => messageOf('system', content);
export const assistant = (...content: (string | ContentBlock)[]): SpokenMessage => messageOf('assistant', content);
export const injected = (kind: string, words: string): SpokenMessage => ({
  ...messageOf('user', [words]),
  injected: kind,
});
export const toolUse = (
  tool_use_id: string,
  tool_name = 'Read',
  tool_input: unknown = { path: 'a' },
): ContentBlock => ({
  type: 'tool_use',
  tool_use_id,
  tool_name,
  tool_input,
});
export const toolResult = (tool_result_id: string, tool_output = 'done', is_error = false): ContentBlock => ({
  type: 'tool_result',
  tool_result_id,
  tool_output,
  ...(is_error ? { is_error } : {}),
});
export const answer = (...content: (string | ContentBlock)[]): Answer => ({ content: blocks(content) });

/** An instant so many seconds after nine o'clock. */
export const instantAt = (seconds: number): string =>
  new Date(Date.UTC(2026, 10, 21, 9) + Math.round(seconds * 1000)).toISOString().replace('Z', '000Z');

/** The calls in their order, each with the messages that no earlier one holds. */
export function callTurns(calls: readonly Call[]): CallTurn[] {
  const known = new Set<string>();
  return calls
    .map((call, i) => hashed(call, i))
    .sort((one, other) => compareKeys(one.turn, other.turn))
    .map(({ turn, chain }) => {
      const fresh = chain.filter(({ node_hash }) => !known.has(node_hash));
      for (const { node_hash } of chain) known.add(node_hash);
      if (turn.leaf_hash) known.add(turn.leaf_hash);
      return { ...turn, fresh };
    });
}

function hashed(
  { at, says = [], answers, identity, ...overrides }: Call,
  i: number,
): { turn: CallTurn; chain: FreshMessage[] } {
  const chain: FreshMessage[] = [];
  let spine: string | null = null;
  for (const message of says) {
    const node_hash: string = hash(spine, message.role, message.content);
    chain.push({ ...message, node_hash, parent_hash: spine });
    if (message.injected === '') spine = node_hash;
  }
  const reply = answers ? replyOf(answers) : null;
  const turn: CallTurn = {
    raw_turn_id: i + 1,
    call_id: `call-${String(i).padStart(4, '0')}`,
    session_id: SESSION,
    thread_id: '',
    source: 'wire',
    kind: 'main',
    judged: '',
    identity: { ...nobody, ...identity },
    surroundings: noSurroundings,
    outcome: 'captured',
    ending: 'complete',
    status: 200,
    provider: 'anthropic',
    format: 'anthropic.messages',
    model: 'claude-sonnet-4-5',
    stream: true,
    max_tokens: 1024,
    tool_count: 1,
    requested_at: instantAt(at),
    first_byte_at: instantAt(at + 0.2),
    last_byte_at: instantAt(at + 0.5),
    retry_count: 0,
    fresh: [],
    tip_hash: spine,
    leaf_hash: reply && reply.content.length > 0 ? hash(spine, 'assistant', reply.content) : null,
    reply,
    ...overrides,
  };
  return { turn, chain };
}

const replyOf = ({ content, usage = {}, ...rest }: Answer): Reply => ({
  content,
  model: 'claude-sonnet-4-5',
  response_id: 'msg_1',
  stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
  usage: usage === null ? null : { ...noUsage, input_tokens: 100, output_tokens: 10, ...usage },
  usage_verbatim: null,
  complete: true,
  error: null,
  ...rest,
});

const nobody: CallTurn['identity'] = {
  harness_id: 'unknown',
  harness_session_id: '',
  thread_id: '',
  parent_harness_session_id: null,
  parent_thread_id: '',
  harness_version: '',
  cwd: '',
  session_name: '',
  harness_metadata: null,
  agent_name: '',
  project: '',
  auth_subject: '',
};

const messageOf = (role: MessageRole, content: (string | ContentBlock)[]): SpokenMessage => ({
  role,
  content: blocks(content),
  injected: '',
});
const blocks = (content: (string | ContentBlock)[]) =>
  content.map((block) => (typeof block === 'string' ? text(block) : block));
const hash = (parent: string | null, role: string, content: unknown) =>
  createHash('sha256')
    .update(JSON.stringify([parent, role, content]))
    .digest('hex');
