/** Nodes, steps that change them, and filters of stats, at random: for tests of what stats sum up. */
import fc from 'fast-check';
import { MIDNIGHT, NINE_MS, SESSIONS, type StatNode, type Step } from './stat-nodes.ts';

const ODD = ['', 'a', 'A', 'a ', "o'c", '"\\', '%', '日本', '\u{1F600}', '\uFFFD', 'null'];

/** So often the usual one that filters on several attributes still find some. */
const mostly = (usual: string, others: readonly string[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const cost = fc.option(
  fc.tuple(fc.nat(200), fc.nat(999_999_999_999)).map(([whole, parts]) => BigInt(whole) * TRILLION + BigInt(parts)),
);
const TRILLION = 1_000_000_000_000n;
const dollars = (trillionths: bigint) => {
  const digits = String(trillionths).padStart(13, '0');
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
};

/** A cost in its parts, as they are stored: what is 0 is null. Some nodes are of a release that stored none. */
const parted = fc
  .tuple(cost, fc.array(fc.constantFrom(0n, 1n, 17n, 40n, 100n), { minLength: 5, maxLength: 5 }), fc.nat(4))
  .map(([usd, shares, age]) => {
    const known = usd !== null && age > 0;
    let left = usd ?? 0n;
    const amounts = shares.map((share) => {
      const part = (left * share) / 100n;
      left -= part;
      return part;
    });
    const stored = [...amounts, left].map((part) => (known && part > 0n ? dollars(part) : null));
    const [cost_fresh = null, cost_cache_read = null, cost_cache_write_5m = null, cost_cache_write_1h = null] = stored;
    const [cost_output = null, cost_reasoning = null] = stored.slice(4);
    const parts = {
      cost_fresh,
      cost_cache_read,
      cost_cache_write_5m,
      cost_cache_write_1h,
      cost_output,
      cost_reasoning,
    };
    return { cost_usd: usd === null ? null : dollars(usd), ...parts };
  });

const unparted = fc.record({
  session: fc.constantFrom(...SESSIONS),
  role: fc.constantFrom('assistant', 'assistant', 'user', 'system', 'tool'),
  injected: fc.constantFrom('', '', '', 'claude-md'),
  project: mostly('atlas', ODD),
  agent_name: mostly('claude-code', ODD),
  model: mostly('m-1', ['M-1', ...ODD]),
  provider: mostly('openai', ['anthropic', '']),
  stop_reason: fc.constantFrom(
    'stop',
    'STOP',
    'end_turn',
    'End_Turn',
    'END-turn',
    'eos',
    'eoS',
    'tool_use',
    'stop ',
    '',
    'length',
  ),
  input_tokens: fc.oneof(fc.constant(0), fc.nat(5_000_000_000)),
  output_tokens: fc.oneof(fc.constant(0), fc.nat(1000)),
  tool_calls: fc.nat(3),
  is_root: fc.boolean(),
  is_head: fc.boolean(),
  cache_read_tokens: fc.oneof(fc.constant(0), fc.nat(5_000_000_000)),
  cache_write_5m_tokens: fc.nat(3),
  cache_write_1h_tokens: fc.nat(3),
  reasoning_tokens: fc.nat(1000),
  created_us: fc.oneof(
    fc.nat(4),
    fc.nat(400_000_000),
    fc.constantFrom(MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 7, 2 * MIDNIGHT),
  ),
});

export const anyStatNode: fc.Arbitrary<StatNode> = fc
  .tuple(unparted, parted)
  .map(([node, costs]) => ({ ...node, ...costs }));

const at = fc.array(fc.nat(40), { maxLength: 6 });
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('more' as const), nodes: fc.array(anyStatNode, { maxLength: 8 }) }),
  fc.record({
    kind: fc.constant('earlier' as const),
    at,
    node: anyStatNode,
    more: fc.array(anyStatNode, { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('followed' as const), at }),
  fc.record({ kind: fc.constant('moved' as const), at, session: fc.constantFrom(...SESSIONS) }),
  fc.record({ kind: fc.constant('gone' as const), at }),
);

/** A bound to the nanosecond, in some offset: its text, and its place on the nodes' clock. */
const bound = fc
  .record({
    us: fc.oneof(
      fc.integer({ min: -1, max: 5 }),
      fc.integer({ min: -1, max: 400_000_001 }),
      fc.constantFrom(MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1),
    ),
    ns: fc.constantFrom(0, 0, 1, 500, 999),
    offset: fc.constantFrom(0, 0, 90, -330, 1439, -1439),
    short: fc.boolean(),
  })
  .map(({ us, ns, offset, short }) => {
    const ms = NINE_MS + Math.floor(us / 1000);
    const local = new Date(ms + offset * 60_000).toISOString().slice(0, 19);
    const digits = `${String(new Date(ms).getUTCMilliseconds()).padStart(3, '0')}${String(((us % 1000) + 1000) % 1000).padStart(3, '0')}${String(ns).padStart(3, '0')}`;
    const fraction = short ? `.${digits}`.replace(/\.?0+$/, '') : `.${digits}`;
    const two = (n: number) => String(n).padStart(2, '0');
    const minutes = Math.abs(offset);
    const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
    return { stamp: `${local}${fraction}${zone}`, at: BigInt(us) * 1000n + BigInt(ns) };
  });

export const anyStatsFilter = fc.record({
  project: mostly('atlas', ODD.slice(1)),
  agent_name: mostly('claude-code', ODD.slice(1)),
  model: mostly('m-1', ODD.slice(1)),
  provider: mostly('openai', ['anthropic', 'OpenAI']),
  since: bound,
  until: bound,
});
export type StatsFilter = Partial<typeof anyStatsFilter extends fc.Arbitrary<infer All> ? All : never>;

/** The filter's parameters of which the bits of `mask` name. */
export const maskedFilter = (all: StatsFilter, mask: number): StatsFilter =>
  Object.fromEntries(Object.entries(all).filter((_, bit) => (mask & (1 << bit)) !== 0));
