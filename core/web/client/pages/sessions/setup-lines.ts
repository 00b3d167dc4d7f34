/** The lines with which a newcomer points a client at the proxy. */
import type { Status } from '../../../../model/status.ts';

export type SetupLine = { client: string; line: string };

/** @param proxy the proxy's address, as http://127.0.0.1:8080 */
export const setupLines = (proxy: string): SetupLine[] => [
  { client: 'Claude Code', line: `ANTHROPIC_BASE_URL=${proxy}/anthropic claude` },
  {
    client: 'Codex',
    line: `codex -c model_provider=svc -c 'model_providers.svc={name="svc",base_url="${proxy}/openai/v1",wire_api="responses",env_key="OPENAI_API_KEY"}'`,
  },
  { client: 'Gemini CLI', line: `GOOGLE_GEMINI_BASE_URL=${proxy}/gemini gemini` },
  { client: 'Anthropic SDK', line: `ANTHROPIC_BASE_URL=${proxy}/anthropic` },
  { client: 'OpenAI SDK', line: `OPENAI_BASE_URL=${proxy}/openai/v1` },
  { client: 'Ollama client', line: `OLLAMA_HOST=${proxy}/ollama` },
];

const ANY_HOST = ['0.0.0.0', '[::]'];

/** Where the proxy is reached from this page; null: the process that answers has none. @param here the page's host name */
export function proxyAddress(service: Status['service'], here: string): string | null {
  const listeners = service?.listeners.proxy ?? [];
  const address = listeners.find((each) => new URL(each).hostname === '127.0.0.1') ?? listeners[0];
  if (address === undefined) return null;
  const { hostname, port } = new URL(address);
  const isAny = ANY_HOST.includes(hostname);
  return `http://${isAny ? here : hostname}${port === '' ? '' : `:${port}`}`;
}
