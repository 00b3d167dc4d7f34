/** The sessions that cost most. */
import type { Session } from '../../../../model/session.ts';
import { hrefOf } from '../../base.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, When } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';

export const DearestSessions = ({ sessions }: { sessions: readonly Session[] }) => (
  <section aria-labelledby="spend-sessions">
    <h2 id="spend-sessions">Dearest sessions</h2>
    {sessions.length === 0 ? (
      <p class="muted">none with a known price</p>
    ) : (
      <DataTable
        columns={['Session', 'Cost', 'Seen']}
        rows={sessions.map(({ id, display_title, last_seen_at, rollup: { usage } }) => ({
          key: id,
          attributes: { 'data-session': id },
          head: (
            <a href={hrefOf(`/sessions/${id}`)}>
              <Recorded text={display_title.slice(0, 200)} />
            </a>
          ),
          cells: [
            <Cost usd={usage.cost_usd} atLeast={usage.unpriced_models.length > 0} />,
            <When name="last_seen_at" at={last_seen_at} />,
          ],
        }))}
      />
    )}
    <p class="muted">
      A session counts here with all of its calls, also those outside of the window; the sum above counts the messages
      of the window. So they need not add up.
    </p>
  </section>
);
