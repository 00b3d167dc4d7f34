/** opencode: the signs by which it is recognised, and its calls beside the conversation; a sub-agent is a session of its own here. */
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { wordOf } from '../model/headers.ts';
import { fields } from '../provider/json.ts';
import type { CallTraits, Harness } from './harness.ts';
import { textOf } from './message-text.ts';
import { readOpencodeTranscript } from './opencode-transcript.ts';
import { plainHarness } from './plain-harness.ts';
import { noSigns, versionIn } from './signs.ts';
import { lineAfter } from './surroundings.ts';
import { wholeList } from './tasks.ts';

export const opencode: Harness = {
  ...plainHarness,
  readTranscript: readOpencodeTranscript,
  id: 'opencode',
  sessionHeaders: ['x-session-id'],
  signs: (headers) => {
    const harness_version = versionIn(wordOf(headers, 'user-agent'), 'opencode');
    if (!harness_version) return null;
    const harness_session_id = wordOf(headers, 'x-session-id');
    const parent = wordOf(headers, 'x-parent-session-id');
    const parent_harness_session_id = parent === harness_session_id ? '' : parent;
    return { ...noSigns, harness_id: 'opencode', harness_session_id, parent_harness_session_id, harness_version };
  },
  callKind,
  surroundings: ({ harness_id, system }) => {
    const prompt = system();
    if (harness_id !== 'opencode' && !prompt.startsWith('You are opencode')) return null;
    return { cwd: lineAfter(prompt, 'Working directory: '), git_branch: '', agent_name: 'opencode' };
  },
  tasksAfter: (tasks, { tool_name, tool_input }, result) => {
    if (tool_name !== 'todowrite') return null;
    return (result.is_error ? null : wholeList(fields(tool_input).todos, 'content')) ?? [...tasks];
  },
  titleIn,
};

/** The answer is the title and nothing else; an object is another harness's. */
function titleIn(output: readonly ContentBlock[]): string {
  const line = textOf(output).trim().split('\n')[0]?.trim() ?? '';
  return line.startsWith('{') ? '' : line;
}

/**
 * | the call | kind |
 * | --- | --- |
 * | no tools, its system begins with "You are a title generator" | title-gen |
 * | no tools, its system begins as a summarizer's | compaction |
 */
function callKind({ harness_id, tool_count, system }: CallTraits): CallKind | null {
  if (harness_id !== 'opencode' || tool_count > 0) return null;
  const prompt = system().trimStart();
  if (prompt.startsWith('You are a title generator')) return 'offshoot:title-gen';
  return summarizers.some((opening) => prompt.startsWith(opening)) ? 'offshoot:compaction' : null;
}

const summarizers = [
  'You are an anchored context summarization assistant',
  'You are a helpful AI assistant tasked with summarizing conversations',
];
