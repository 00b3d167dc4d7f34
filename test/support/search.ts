/** The search cassette in a test: set up, its embedding awaited, and queried. */

import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { embedSpans } from '../../cassettes/search/embed-spans.ts';
import { manifest, type SearchConfig } from '../../cassettes/search/manifest.ts';
import { parseManifest } from '../../core/cassette/admission/manifest.ts';
import { readSettings } from '../../core/cassette/admission/settings.ts';
import type { Env, Progress } from '../../core/cassette/contract.ts';
import { openLog } from '../../core/log.ts';
import { standCassette } from './cassette-stand.ts';
import type { TestDatabase } from './databases.ts';
import { eventually } from './eventually.ts';
import type { Json } from './read-api.ts';

/** Made once and shared by all test processes. */
export const MODELS = `${process.env.TMPDIR ?? '/tmp'}/svc-test-models`;

type SearchStandOptions = {
  config?: Record<string, unknown>;
  environment?: Record<string, string>;
  name?: string;
  withDatabase?: boolean;
  onChange?: boolean;
};

export async function standSearch(database: TestDatabase, { config = {}, ...options }: SearchStandOptions = {}) {
  const stand = await standCassette(database, {
    ...{ folder: 'search', manifest, config: { models_folder: MODELS, ...config } },
    ...options,
  });
  const DB = stand.databases?.db(options.name ?? 'search') as NonNullable<Env['DB']>;
  const status = async (): Promise<Json> => (await stand.ask('/status')).json();
  const progress: Progress[] = [];
  const env = (other: Record<string, unknown> = {}): Env<SearchConfig> => {
    const settings = { models_folder: MODELS, ...config, ...other };
    const CONFIG = readSettings(parseManifest(manifest), settings) as SearchConfig;
    return { DB, CONFIG, LOG: openLog('silent') as unknown as Env['LOG'] };
  };
  return {
    ...stand,
    /** What a run of the background work is handed, with other settings. */
    env,
    status,
    /** The progress that runs of `pass` reported. */
    progress,
    /** @returns when no span is left to embed: what became of them */
    embedded: async (): Promise<Json> => {
      await eventually(async () => {
        await sleep(100); // each look is a query over all spans
        return (await status()).pending === 0;
      });
      return status();
    },
    /** One run of the background work, at once. @throws what it throws */
    pass: async (other: Record<string, unknown> = {}): Promise<void> => {
      const { signal } = new AbortController();
      await embedSpans(env(other), { signal }, { progress: (items) => progress.push(items) });
    },
    async find(query: string, top_k = 5): Promise<Json> {
      const answer = await stand.ask(`/spans?${new URLSearchParams({ query, top_k: String(top_k) })}`);
      assert.is(answer.status, 200, await answer.clone().text());
      return answer.json();
    },
  };
}
