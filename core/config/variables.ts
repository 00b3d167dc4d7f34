/** Which variables beginning with `SVC_` are no settings, and yet no mistakes? */

/** Read elsewhere: secrets and addresses that belong into no file. `SVC_API_TOKEN` is the key `api.token`. */
export const OTHER_VARIABLES = [
  'SVC_INTERNAL_LISTEN',
  'SVC_INTERNAL_TOKEN',
  'SVC_DATABASE_URL',
  'SVC_CORE_URL',
  'SVC_FIXTURES',
  // Who this process is, for the evidence of the internal listener.
  ...['SVC_POD_NAME', 'SVC_POD_UID', 'SVC_POD_IP', 'SVC_NODE_NAME', 'SVC_REPLICA_SET', 'SVC_IMAGE_DIGEST'],
];

/** What begins so are settings of cassettes: `SVC_CASSETTE_<NAME>_<KEY>`. */
export const CASSETTE_VARIABLE = 'SVC_CASSETTE_';

/**
 * True for those, for `SVC_TEST_*` and `SVC_CASSETTE_*`, and for what Kubernetes sets in every pod when a Service there is called `svc` or `svc-…`
 * (`SVC_PROXY_SERVICE_HOST`, `SVC_PROXY_PORT=tcp://…`): a neighbour's name must not keep us from starting.
 */
export const foreignVariable = (name: string, value: string): boolean =>
  OTHER_VARIABLES.includes(name) ||
  name.startsWith('SVC_TEST_') ||
  name.startsWith(CASSETTE_VARIABLE) ||
  /_SERVICE_(HOST|PORT(_\w+)?)$/.test(name) ||
  /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
  (/_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value));
