/**
 * The harnesses whose transcripts would count twice: their calls name no session, so what the proxy has recorded of them cannot be
 * recognised in their files.
 */
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Session } from '../../model/session.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { TranscriptSource } from './transcript-source.ts';

/** Of the newest sessions of a harness so many are looked at. */
const NEWEST = 200;

/** The sources, of which those that would count twice say why they are not read. */
export async function withoutRecorded(
  sources: readonly TranscriptSource[],
  loaded: LoadedConfig,
): Promise<TranscriptSource[]> {
  let api: ApiClient | null = null;
  const checked: TranscriptSource[] = [];
  for (const source of sources) {
    if (!source.isUnnamed) checked.push(source);
    else {
      try {
        api ??= await openApiClient(loaded);
        const isRecorded = await hasUnnamed(api, source.harness, source.isUnnamed);
        checked.push(isRecorded ? { ...source, notRead: () => TWICE } : source);
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        checked.push({ ...source, notRead: () => NOT_KNOWN });
      }
    }
  }
  return checked;
}

const TWICE =
  'the proxy has recorded it, and its calls name no session, so that its files would count twice; --even-recorded sends them';
const NOT_KNOWN =
  'its calls name no session, and whether the proxy has recorded some cannot be read; --even-recorded sends its files';

async function hasUnnamed(api: ApiClient, agent: string, isUnnamed: (session: Session) => boolean): Promise<boolean> {
  const { items } = await api.json<{ items: Session[] }>({
    path: `/v1/browse/sessions?${new URLSearchParams({ agent_name: agent, limit: String(NEWEST) })}`,
    what: 'read which sessions are recorded',
  });
  return items.some(isUnnamed);
}
