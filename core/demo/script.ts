/** The script of a demo session: what a person asks, what the model answers, what its tools return. */
import type { ProviderId } from '../provider/provider-ids.ts';

export type DemoTool = { name: string; description: string; parameters: Record<string, unknown> };

/** One use of a tool. `seconds`: how long it took. */
export type ToolUse = {
  tool: string;
  input: Record<string, unknown>;
  result: string;
  failed: boolean;
  seconds: number;
};

export type DemoPrompt = { kind: 'asks'; text: string; after: number }; // seconds since the answer before
export type ScriptedAnswer = { kind: 'answers'; thinking: string; text: string; uses: ToolUse[] };
/** The provider refuses; the client tries the same request again, or gives up when this is the last step. */
export type ScriptedRefusal = { kind: 'refuses'; status: number; type: string; message: string };

export type Script = {
  slug: string; // part of every id
  wire: 'anthropic' | 'responses' | 'chat' | 'ollama';
  minutes_ago: number;
  agent: string; // '' for a client that does not say who it is
  /** null: the client names no session, and the conversation itself decides. */
  harness: { id: string; version: string; cwd: string } | null;
  model: string;
  system: string;
  /** Tokens of the instructions and tools of a real client; those in the script are abridged. */
  preamble_tokens: number;
  tools: readonly DemoTool[];
  steps: readonly (DemoPrompt | ScriptedAnswer | ScriptedRefusal)[];
};

/** An answer with its number in the session, which is part of the ids of its tool calls. */
export type NumberedAnswer = ScriptedAnswer & { n: number };

/** A line of the history that a request repeats. */
export type DemoLine = DemoPrompt | NumberedAnswer;

/** Tokens of one call. `input` holds `cached`, `output` holds `reasoning`. */
export type DemoUsage = { input: number; cached: number; output: number; reasoning: number };

/** One call: the `n`th of its session, sent `at`. */
export type DemoCall = { slug: string; model: string; n: number; at: Date; spent: DemoUsage };

/** How a provider's requests and answers are written. Answers are streams. */
export type Wire = {
  provider: ProviderId;
  path: string;
  contentType: string;
  request(script: Script, history: readonly DemoLine[]): Record<string, unknown>;
  answer(answer: NumberedAnswer, call: DemoCall): string;
  refusal(refused: ScriptedRefusal, call: DemoCall): string;
};

export const asks = (text: string, after = 45): DemoPrompt => ({ kind: 'asks', text, after });

export const answers = (text: string, thinking = ''): ScriptedAnswer => ({ kind: 'answers', thinking, text, uses: [] });

/** The model answers with text, or none, and calls tools. */
export const calls = (text: string, ...uses: ToolUse[]): ScriptedAnswer => ({
  kind: 'answers',
  thinking: '',
  text,
  uses,
});

export const thinking = (words: string, answer: ScriptedAnswer): ScriptedAnswer => ({ ...answer, thinking: words });

export const refuses = (status: number, type: string, message: string): ScriptedRefusal => ({
  kind: 'refuses',
  status,
  type,
  message,
});

export const use = (tool: string, input: Record<string, unknown>, result: string, seconds = 1.4): ToolUse => ({
  tool,
  input,
  result,
  failed: false,
  seconds,
});

export const failed = (used: ToolUse): ToolUse => ({ ...used, failed: true });

/** The id of an answer's tool call, the same in the answer and in what repeats it. */
export const toolCallId = (prefix: string, slug: string, n: number, i: number): string =>
  `${prefix}_demo_${slug.replaceAll('-', '_')}_${n}${'abcdefgh'[i] ?? i}`;

/** A text in the chunks in which it streams. */
export const pieces = (text: string): string[] => text.match(/[\s\S]{1,40}/g) ?? [];
