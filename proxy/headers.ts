/** The headers that pass: all that are meant for the other end, in their order, case and repetition; raw lists in and out. */

/** Headers of one connection only (RFC 9110 7.6.1), so each side of the proxy has its own. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']);
const WITH_CONTENT = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The end-to-end headers of a raw list: without the hop-by-hop ones and those that `Connection` names.
 * @param raw names and values in turn, as Node's `rawHeaders` has them
 */
export function endToEnd(raw: readonly string[]): string[] {
  const named = namedInConnection(raw);
  const passed: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (!isHopByHop(name, named)) passed.push(raw[i] as string, raw[i + 1] as string);
  }
  return passed;
}

/**
 * The headers that go upstream: the end-to-end headers without `x-svc-*`, with `host` in its position and the upstream's name in it. The
 * framing of the body stays as the client chose it; a request that may have a body and declares none gets a length of 0, since Node would
 * otherwise announce chunks.
 */
export function towardsUpstream(raw: readonly string[], method: string, host: string): string[] {
  const named = namedInConnection(raw);
  const passed: string[] = [];
  let framed = false;
  let hosted = false;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (name === 'host') {
      if (!hosted) passed.push(raw[i] as string, host);
      hosted = true;
    } else if (name === 'content-length' || name === 'transfer-encoding') {
      passed.push(raw[i] as string, raw[i + 1] as string);
      framed = true;
    } else if (!isHopByHop(name, named) && !name.startsWith('x-svc-')) {
      passed.push(raw[i] as string, raw[i + 1] as string);
    }
  }
  if (!hosted) passed.unshift('Host', host);
  if (!framed && WITH_CONTENT.has(method)) passed.push('Content-Length', '0');
  return passed;
}

/** As `towardsUpstream`, for a connection that is to change its protocol. */
export function towardsUpgrade(raw: readonly string[], method: string, host: string): string[] {
  const passed = towardsUpstream(raw, method, host);
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (/^(connection|upgrade)$/i.test(raw[i] as string)) passed.push(raw[i] as string, raw[i + 1] as string);
  }
  return passed;
}

/** Names and values in pairs, as trailers are written. */
export function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) list.push([raw[i] as string, raw[i + 1] as string]);
  return list;
}

const isHopByHop = (name: string, named: ReadonlySet<string> | null) =>
  HOP_BY_HOP.has(name) || name.startsWith('proxy-') || (named?.has(name) ?? false);

/** Null when `Connection` names nothing but what is hop-by-hop anyway, as it nearly always does. */
function namedInConnection(raw: readonly string[]): Set<string> | null {
  let named: Set<string> | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    for (const token of (raw[i + 1] as string).toLowerCase().split(',')) {
      const option = token.trim();
      if (option !== '' && option !== 'close' && !HOP_BY_HOP.has(option)) named = (named ?? new Set()).add(option);
    }
  }
  return named;
}
