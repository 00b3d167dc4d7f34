/** Why an address cannot be used over TLS, when somebody listens there: a certificate that Node refuses, or no TLS at all. */
import { isTlsCode } from '../tls-code.ts';

/** With Node's or OpenSSL's code, as `tls CERT_HAS_EXPIRED`. */
export type TlsFailure = `tls ${string}`;

/** @param protocol of the address, as `https:` @param code of the error; null: it is not TLS that failed */
export const tlsFailure = (protocol: string, code: string | undefined): TlsFailure | null =>
  protocol === 'https:' && code !== undefined && isTlsCode(code) ? `tls ${code}` : null;

/** The reason as the end of a sentence, with what to do; null: it is no failure of TLS. @param outcome as `getJson` returns */
export function tlsReason(outcome: unknown): string | null {
  if (typeof outcome !== 'string' || !outcome.startsWith('tls ')) return null;
  const code = outcome.slice('tls '.length);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return `its certificate is for other host names (${code}); name the service by one of these`;
  if (code === 'CERT_HAS_EXPIRED') return `its certificate has expired (${code})`;
  if (code === 'CERT_NOT_YET_VALID') return `its certificate is not valid yet (${code})`;
  if (UNTRUSTED.test(code))
    return `its certificate is not trusted (${code}): NODE_EXTRA_CA_CERTS=<file> names its authority`;
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return `no TLS can be agreed on (${code})`;
  return `its certificate is refused (${code})`;
}

const UNTRUSTED = /SELF_SIGNED|^UNABLE_TO_|^CERT_UNTRUSTED$|^INVALID_CA$/;
