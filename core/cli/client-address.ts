/** An address at which a person has pointed a client, as its variable has it. */
import { isIPv6 } from 'node:net';
import { type ProviderId, UPSTREAMS } from '../provider/provider-ids.ts';

/**
 * Without a scheme it is a host, a port or both, as OLLAMA_HOST may be: what is missing is loopback, and the port of the provider's usual
 * address. (https://github.com/ollama/ollama/blob/main/envconfig/config.go)
 *
 * @param value as `https://api.anthropic.com`, `localhost:8080`, `:11434` or `::1`
 * @returns null: it is no address
 */
export function clientAddress(value: string, provider: ProviderId): URL | null {
  const text = value.trim();
  if (/^\w+:\/\//.test(text)) return URL.canParse(text) ? new URL(text) : null;
  const [place = ''] = text.split('/', 1);
  const host = isIPv6(place) ? `[${place}]` : place.startsWith(':') ? `127.0.0.1${place}` : place;
  const whole = `http://${host}${text.slice(place.length)}`;
  if (!URL.canParse(whole)) return null;
  const address = new URL(whole);
  if (!/:\d+$/.test(host)) address.port = new URL(UPSTREAMS[provider]).port;
  return address;
}
