/** What breaks of the prompt cache cost: what was paid to write again what the provider held. */
import type { CacheBreak } from '../../../../model/cache-break.ts';
import { lensPath } from '../../address-text.ts';
import { hrefOf } from '../../base.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, Count, When } from '../../parts/figure.tsx';
import type { Leaks } from './read-spend.ts';
import { shareText } from './spend-days.ts';

const WORDS: Readonly<Record<string, string>> = {
  tools: 'tools changed',
  system: 'system prompt changed',
  parameters: 'parameters changed',
  history: 'history rewritten',
  mark: 'cache mark moved',
  small: 'too small to be cached',
  expired: 'expired',
  unexplained: 'not explained',
};

export const avoidableOf = ({ groups }: Leaks): number =>
  groups.reduce((sum, { lost_usd }) => sum + (lost_usd ?? 0), 0);

export const LeaksTable = ({ leaks, total }: { leaks: Leaks; total: number }) => (
  <section aria-labelledby="spend-leaks">
    <h2 id="spend-leaks">Where it leaked</h2>
    {leaks.groups.length === 0 ? (
      <p class="muted">no cache broke that could have held</p>
    ) : (
      <DataTable
        columns={['Cause', 'Lost', 'Share', 'Breaks', 'Latest']}
        rows={leaks.groups.map(({ key, cause, lost_usd, breaks }) => ({
          key,
          attributes: { 'data-cause': cause },
          head: WORDS[cause] ?? cause,
          cells: [
            <Cost name="lost_usd" usd={lost_usd} />,
            lost_usd === null ? '—' : shareText(lost_usd, total),
            <Count name="breaks" count={breaks} />,
            <Latest of={leaks.items.find((one) => one.cause === cause)} />,
          ],
        }))}
      />
    )}
    {leaks.sessions_waiting > 0 && (
      <p class="muted">
        <Count name="sessions_waiting" count={leaks.sessions_waiting} />{' '}
        {leaks.sessions_waiting === 1 ? 'session is' : 'sessions are'} still to be looked at
      </p>
    )}
  </section>
);

/** Leads to the break in the Cache lens of its session. Of a cause that is not among the newest breaks there is none. */
const Latest = ({ of: found }: { of: CacheBreak | undefined }) =>
  found?.span_id ? (
    <a href={hrefOf(`${lensPath(found.session_id, 'cache')}?span=${found.span_id}`)}>
      <When name="at" at={found.at} />
    </a>
  ) : (
    '—'
  );
