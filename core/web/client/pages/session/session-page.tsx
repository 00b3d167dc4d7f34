/** The page of one session. */
import { Page } from '../../parts/page.tsx';

export const SessionPage = () => (
  <Page name="session" title="Session" state="empty">
    <h1>Session</h1>
    <p>The session is at /v1/sessions of the read API.</p>
  </Page>
);
