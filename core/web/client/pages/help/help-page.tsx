/** Help: how to point a client here, what the words mean, and where the keys are. */
import type { Status } from '../../../../model/status.ts';
import { readStatus } from '../../api/service.ts';
import { hrefOf } from '../../base.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { SetupTable } from '../sessions/first-use.tsx';
import { useReading } from '../use-reading.ts';
import { WORDS } from './words.ts';
import '../../parts/data-table.css';

export function HelpPage() {
  const { answer, error, retry } = useReading<Status>('status', readStatus);
  return (
    <Page name="help" title="Help" state={answer === null && error === null ? 'loading' : 'ready'}>
      <h1>Help</h1>
      <section aria-labelledby="clients">
        <h2 id="clients">Point a client here</h2>
        {error !== null && <Problem error={error} onRetry={retry} />}
        {answer && <SetupTable service={answer.service} />}
        <p>Keys stay with the client: the proxy passes them on, and replaces them before anything is written.</p>
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        <p>
          <kbd>?</kbd> shows what works on the page that you look at. Single letters can be switched off there.
        </p>
        <p>
          <kbd>/</kbd> finds: in a session in it, elsewhere in all of them. <kbd>n</kbd> and <kbd>N</kbd> lead from hit
          to hit, <kbd>Esc</kbd> closes. <kbd>Ctrl</kbd> <kbd>F</kbd> finds in the session as well; pressed again it is
          the browser’s own, which sees only what is on screen.
        </p>
      </section>
      <section aria-labelledby="words">
        <h2 id="words">Words</h2>
        <dl class="facts">
          {WORDS.map(({ word, means }) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section aria-labelledby="elsewhere">
        <h2 id="elsewhere">The same record elsewhere</h2>
        <ul>
          <li>
            <p>
              <a href={hrefOf('/swagger')} target="_blank" rel="noreferrer">
                the read API
              </a>
              , to look at and try; its contract is at{' '}
              <a href={hrefOf('/openapi')} target="_blank" rel="noreferrer">
                /openapi
              </a>
            </p>
          </li>
          <li>
            MCP, for agents that read their own past:{' '}
            <code>
              claude mcp add --transport http svc {location.origin}
              {hrefOf('/v1/mcp')}
            </code>
          </li>
          <li>
            the command line: <code>svc status</code>, <code>svc verify</code>, <code>svc --help</code>
          </li>
        </ul>
      </section>
    </Page>
  );
}
