/** The page of all sessions. */
import { Page } from '../../parts/page.tsx';

export const SessionsPage = () => (
  <Page name="sessions" title="Sessions" state="empty">
    <h1>Sessions</h1>
    <p>Sessions are at /v1/browse/sessions of the read API.</p>
  </Page>
);
