/** Codes of node:tls and OpenSSL for a session that was not begun, since a certificate or the protocol was refused. (nodejs.org/api/tls.html) */
const TLS_CODES =
  /^(ERR_(TLS|SSL|OSSL)_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|CERT_|CRL_|ERROR_IN_C(ERT|RL)_|PATH_LENGTH_|(INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH|EPROTO)$)/;

/** Whether the code of an error is such. */
export const isTlsCode = (code: string): boolean => TLS_CODES.test(code);
