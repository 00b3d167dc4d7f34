/** Why a provider was not reached, in a sentence that its client may read. */

/** The sentence for an error, made from its code, since its text may hold addresses and headers. @param upstream without secrets */
export function unreachable(error: Error, upstream: string): string {
  const code = (error as NodeJS.ErrnoException).code ?? firstCode(error);
  if (code === undefined) return `Cannot reach the upstream ${upstream}: the connection failed`;
  const reason = REASONS[code];
  return `Cannot reach the upstream ${upstream}: ${reason ? `${reason} (${code})` : code}`;
}

/** The code of an error: a response of 101 to a request that offered no upgrade. */
export const UNREQUESTED_UPGRADE = 'UNREQUESTED_UPGRADE';

const UNTRUSTED =
  'nobody that is trusted here vouches for its certificate; NODE_EXTRA_CA_CERTS names a file of more to trust';
const NO_WAY = 'no way leads to its address';

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection before it answered',
  EPIPE: 'it closed the connection before it answered',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up now',
  EPROXY: 'the forward proxy in between refused the tunnel',
  EPROTO: 'it does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  [UNREQUESTED_UPGRADE]: 'it switched to another protocol',
  HPE_INVALID_CONSTANT: 'its answer is not HTTP',
  HPE_HEADER_OVERFLOW: 'the headers of its answer are too large',
};

/** When several addresses were tried, the errors are inside an AggregateError. */
const firstCode = (error: Error): string | undefined =>
  error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException | undefined)?.code : undefined;
