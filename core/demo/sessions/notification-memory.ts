/** A memory leak that is nearly found: the session ends because a heap snapshot in the conversation is too long for the model. */
import { asks, calls, refuses, type Script, thinking } from '../script.ts';
import { bash, claudeTools, read } from '../tools.ts';

const WORKER = `    12	export async function run(queue: Queue) {
    13	  for await (const job of queue) {
    14	    const mailer = await connect(job.region);
    15	    mailer.on('bounce', (address) => suppress(address, job));
    16	    await mailer.send(job.message);
    17	    job.done();
    18	  }
    19	}`;

export const notificationMemory: Script = {
  slug: 'notification-memory',
  wire: 'anthropic',
  minutes_ago: 2_800,
  agent: 'claude',
  harness: { id: 'claude', version: '2.1.197', cwd: '/home/dev/ferrybook' },
  model: 'claude-opus-4-6',
  system:
    'You are an interactive agent that helps with software engineering tasks. Working directory: /home/dev/ferrybook.',
  preamble_tokens: 13_800,
  tools: claudeTools,
  steps: [
    asks('The notification worker grows by 80 MB an hour until it is killed. Find the leak.'),
    calls(
      'I measure first: does it grow with time, or with the number of messages?',
      bash(
        'shipyard metrics notifier --since 6h --columns rss_mb,sent --every 1h',
        'hour   rss_mb  sent\n03:00     212    410\n04:00     219    388\n05:00     231    702\n06:00     305   4120\n07:00     391   4655\n08:00     482   4981',
        2.2,
      ),
    ),
    calls(
      'With the messages: about 18 KB for each one sent. So something is kept per message.',
      read('/home/dev/ferrybook/src/notifier/worker.ts', WORKER),
    ),
    thinking(
      'connect() is called per job, and each time a bounce listener that closes over the job is added. If connect() returns a cached mailer per region, listeners pile up on it, each holding its job and message. Check connect, then confirm with a heap snapshot.',
      calls(
        'Line 15 adds a listener for every job. If `connect` hands out the same mailer again, the listeners pile up on it, and each keeps its job alive.',
        bash(
          "grep -n -A6 'export async function connect' src/notifier/mailer.ts",
          '9:export async function connect(region: string) {\n10-  const known = mailers.get(region);\n11-  if (known) return known;\n12-  const mailer = await Mailer.open(region);\n13-  mailers.set(region, mailer);\n14-  return mailer;\n15-}',
        ),
      ),
    ),
    calls(
      'It does: one mailer per region, shared by all jobs. A heap snapshot should show thousands of bounce listeners.',
      bash(
        'kill -USR2 $(pidof notifier) && sleep 8 && cat /tmp/notifier.heapsnapshot.json',
        '{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"]},"node_count":1184203,"edge_count":5210077},"strings":["(GC roots)","EventEmitter","bounce","suppress","Job","Message"]}\n[the rest of the snapshot is left out of this demo]',
        11,
      ),
    ),
    refuses(400, 'invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
  ],
};
