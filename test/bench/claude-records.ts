/** A session of Claude Code as it is on disk: a prompt now and then, and tools with their results. */
import { prose } from './prose.ts';

type Conversation = { session: number; calls: number; resultBytes: number };

export const sessionNamed = (session: number): string => `00000000-0000-4000-8000-${String(session).padStart(12, '0')}`;

/** Two records for each call. The first calls are the same, however many there are. */
export function* recordsOf({ session, calls, resultBytes }: Conversation): Generator<object> {
  const sessionId = sessionNamed(session);
  let parentUuid: string | null = null;
  let count = 0;
  const record = (type: string, rest: object): object => {
    const uuid = `${sessionId.slice(0, 24)}${String(count).padStart(6, '0')}${String(session).padStart(6, '0')}`;
    const timestamp = new Date(Date.UTC(2026, 6, 27) + (session * 3_600 + count) * 1_000).toISOString();
    const made = { parentUuid, ...COMMON, sessionId, type, uuid, timestamp, ...rest };
    [parentUuid, count] = [uuid, count + 1];
    return made;
  };
  for (let call = 0; call < calls; call++) {
    const seed = session * 1_000 + call;
    const tool_use_id = `toolu_${session}_${call - 1}`;
    const input = { file_path: `src/${seed}.ts` };
    if (call % 9 === 0) yield record('user', { message: { role: 'user', content: prose(300, seed) } });
    else {
      const content = prose(resultBytes, seed);
      const file = { filePath: input.file_path, content, numLines: 1, startLine: 1, totalLines: 1 };
      yield record('user', {
        message: { role: 'user', content: [{ tool_use_id, type: 'tool_result', content }] },
        toolUseResult: { type: 'text', file }, // Claude Code writes what the tool itself returned beside what the model reads
      });
    }
    const tool = { type: 'tool_use', id: `toolu_${session}_${call}`, name: 'Read', input };
    const content = [{ type: 'text', text: prose(300, seed + 7) }, ...(call % 9 === 8 ? [] : [tool])];
    const id = `msg_${session}_${call}`;
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content,
      usage: USAGE,
    };
    yield record('assistant', { requestId: `req_${session}_${call}`, message });
  }
}

const COMMON = {
  ...{ isSidechain: false, userType: 'external', cwd: '/home/ada/atlas', version: '2.0.14', gitBranch: 'main' },
};
const USAGE = {
  ...{ input_tokens: 12, output_tokens: 90, cache_read_input_tokens: 40_000, cache_creation_input_tokens: 900 },
};
