/**
 * The entry point of a cassette's own process. It loads the module, and serves the service's requests on one channel (file descriptor 3);
 * its bindings are requests to the service on another (4). Both channels speak HTTP/2, carry all exchanges in parallel, and close when
 * either end goes, which ends this process. Plain JavaScript, since nothing here compiles; it imports nothing from outside this
 * folder, since the process may read this folder and the cassette's only: with a third path, Node 20's permissions let it list '/'.
 */
import { host } from './host.mjs';
import { WITHOUT_NETWORK } from './limits.mjs';

const [entry] = process.argv.slice(2);
const [network] = process.argv.splice(3); // not the module's
host(entry, 3, () => {
  // Where Node has no such function, the process was started without the permission.
  if (network === WITHOUT_NETWORK) process.permission?.drop?.('net');
});
