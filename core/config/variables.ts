/** Variables that begin with `SVC_` and are no configuration keys, but no mistakes either. */

/** Read elsewhere: secrets and addresses that do not belong in a file. `SVC_API_TOKEN` is the key `api.token`. */
export const OTHER_VARIABLES = [
  'SVC_INTERNAL_LISTEN',
  'SVC_INTERNAL_TOKEN',
  'SVC_DATABASE_URL',
  'SVC_CORE_URL',
  'SVC_FIXTURES',
  // The identity of this process, for the evidence of the internal listener.
  ...['SVC_POD_NAME', 'SVC_POD_UID', 'SVC_POD_IP', 'SVC_NODE_NAME', 'SVC_REPLICA_SET', 'SVC_IMAGE_DIGEST'],
];

/** The prefix of cassettes' settings: `SVC_CASSETTE_<NAME>_<KEY>`. */
export const CASSETTE_VARIABLE = 'SVC_CASSETTE_';

/**
 * True for `OTHER_VARIABLES`, `SVC_TEST_*`, `SVC_CASSETTE_*`, and for what Kubernetes sets in every pod when a Service is called `svc` or
 * `svc-…` (`SVC_PROXY_SERVICE_HOST`, `SVC_PROXY_PORT=tcp://…`): another Service's name must not keep this one from starting.
 */
export const foreignVariable = (name: string, value: string): boolean =>
  OTHER_VARIABLES.includes(name) ||
  name.startsWith('SVC_TEST_') ||
  name.startsWith(CASSETTE_VARIABLE) ||
  /_SERVICE_(HOST|PORT(_\w+)?)$/.test(name) ||
  /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
  (/_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value));
