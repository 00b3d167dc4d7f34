/** A process of its own, since Node reads NODE_EXTRA_CA_CERTS once: asks the upstream in argv and prints what it answers. */
import { type Egress, noEgress } from '../../proxy/egress.ts';
import { unreachable } from '../../proxy/failure.ts';
import { nameOf } from '../../proxy/misdirected.ts';
import { openUpstreams } from '../../proxy/upstream.ts';

const [address = '', egress = '{}'] = process.argv.slice(2);
const upstreams = openUpstreams({ ...noEgress, ...(JSON.parse(egress) as Partial<Egress>) });
const upstream = upstreams.at(address);
const request = upstream.request('GET', '/path?q', ['Host', upstream.host]);
request.on('error', (error) => console.log(unreachable(error, nameOf(address))));
request.on('response', async (answer) => {
  let body = '';
  for await (const chunk of answer) body += chunk;
  console.log(`${answer.statusCode} ${body}`);
  upstreams.close();
});
request.end();
