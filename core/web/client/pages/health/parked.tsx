/** What could not be worked on: sessions that failed too often, and calls that the database refused. */
import type { Status } from '../../../../model/status.ts';
import { hrefOf } from '../../base.ts';
import { Bytes, Count, When } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';

export function Parked({ status: { derive, parked_sessions, parked_turns } }: { status: Status }) {
  if (derive.parked === 0 && parked_turns.count === 0) return null;
  return (
    <section aria-labelledby="parked">
      <h2 id="parked">Set aside</h2>
      {derive.parked > 0 && (
        <>
          <p>
            <Count name="parked_sessions" count={derive.parked} /> {derive.parked === 1 ? 'session' : 'sessions'} could
            not be derived and {derive.parked === 1 ? 'is' : 'are'} shown as far as before. A new call, or POST
            /v1/admin/derive/run, tries again.
          </p>
          <ul>
            {parked_sessions.map(({ session_id, error, attempts, parked_at }) => (
              <li key={session_id} data-parked-session={session_id}>
                <a href={hrefOf(`/sessions/${session_id}`)}>{session_id}</a>: <Recorded text={error} />, {attempts}{' '}
                attempts, <When at={parked_at} />
              </li>
            ))}
          </ul>
        </>
      )}
      {parked_turns.count > 0 && (
        <>
          <p>
            <Count name="parked_turns" count={parked_turns.count} />{' '}
            {parked_turns.count === 1 ? 'call was' : 'calls were'} refused by the database and{' '}
            {parked_turns.count === 1 ? 'lies' : 'lie'} with all bytes in svc.parked_turns.
          </p>
          <ul>
            {parked_turns.newest.map(({ svc_proxy_request_id, reason, bytes, parked_at }) => (
              <li key={svc_proxy_request_id}>
                <code>{svc_proxy_request_id}</code>: <Recorded text={reason} />, <Bytes count={bytes} />,{' '}
                <When at={parked_at} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
