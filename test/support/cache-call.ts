/** Calls for the rules of the prompt cache: prompts in short hand, whose blocks have the tokens that a test gives them. */
import { createHash } from 'node:crypto';
import type { PromptSection } from '../../core/model/cache-break.ts';
import type { Usage } from '../../core/model/usage.ts';
import { tokenBill } from '../../core/price/bill.ts';
import type { CacheCall } from '../../core/prompt/cache-call.ts';
import { openCacheJudge, type Verdict } from '../../core/prompt/cache-rules.ts';
import type { Prompt, PromptBlock } from '../../core/prompt/prompt.ts';
import { cachingOf } from '../../core/provider/providers.ts';

type Mark = PromptBlock['mark'];
export type Part = { json: unknown; tokens: number; mark?: Mark };
export type Parts = { tools?: Part[]; system?: Part[]; messages?: Part[] };

export const tool = (name: string, description: string, tokens: number, mark: Mark = null): Part => ({
  json: { name, description, input_schema: { type: 'object' } },
  tokens,
  mark,
});
export const text = (words: string, tokens: number, mark: Mark = null): Part => ({
  json: { type: 'text', text: words },
  tokens,
  mark,
});

/** Read from the cache, written to it for 5 minutes and for an hour, and billed plainly. */
export const billed = (read: number, written: number, fresh = 0, for1h = 0): Usage => ({
  input_tokens: read + written + fresh + for1h,
  output_tokens: 100,
  cache_read_tokens: read,
  cache_write_5m_tokens: written,
  cache_write_1h_tokens: for1h,
  reasoning_tokens: 0,
});

/** A price list's row by hand: what Anthropic's Sonnet costs. */
const RATES = { input: '3', output: '15', cache_read: '0.3', cache_write: '3.75', cache_write_1h: '6' };

export type Given = Partial<Omit<CacheCall, 'prompt' | 'tokens'>> & {
  parts: Parts;
  second: number;
  parameters?: Record<string, string>;
  format?: string;
};

export function cacheCall({ parts, second, parameters = {}, format, ...rest }: Given): CacheCall {
  const provider = rest.provider ?? 'anthropic';
  const all = (['tools', 'system', 'messages'] as const).flatMap((section) =>
    (parts[section] ?? []).map((part, i) => ({ part, section, path: `${section}[${i}]` })),
  );
  const prompt: Prompt = {
    provider,
    format: format ?? (provider === 'anthropic' ? 'anthropic.messages' : 'openai.responses'),
    reach: 'whole',
    blocks: all.map(({ part, section, path }) => blockOf(part, section, path)),
    parameters: Object.entries(parameters).map(([name, value]) => ({ name, value, keyed: true })),
  };
  const ended_at = new Date(Date.UTC(2026, 6, 27, 9, 0, second + 1)).toISOString();
  return {
    raw_turn_id: second,
    session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
    at: new Date(Date.UTC(2026, 6, 27, 9, 0, second)).toISOString(),
    ended_at,
    model: 'claude-sonnet-4-5',
    provider,
    credential: 'one',
    lane: '',
    seam: false,
    tokens: all.map(({ part }) => part.tokens),
    usage: null,
    cost: (usage) => tokenBill('anthropic', usage, RATES).usd,
    span: null,
    ...rest,
    prompt,
  };
}

function blockOf({ json, mark = null }: Part, section: PromptSection, path: string): PromptBlock {
  const raw = Buffer.from(JSON.stringify(json));
  return {
    id: createHash('sha256').update(raw).digest('hex'),
    ...{ section, path, role: section === 'messages' ? 'user' : '', label: '', call_id: '' },
    kind: section === 'tools' ? 'tool-definition' : section === 'system' ? 'instructions' : 'user',
    ...{ bytes: raw.length, pixels: 0, picture_bytes: 0, picture_tokens: 0, mark },
    raw: () => raw,
    json: () => json,
    text: () => (json as { text?: string }).text ?? null,
  };
}

export function judged(calls: readonly CacheCall[]): Verdict[] {
  const judge = openCacheJudge(cachingOf);
  return calls.map((call) => judge.judge(call));
}
