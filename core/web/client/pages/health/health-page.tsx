/** The page that shows whether anything is missing. */
import { Page } from '../../parts/page.tsx';

export const HealthPage = () => (
  <Page name="health" title="Health" state="empty">
    <h1>Health</h1>
    <p>What was captured is at /v1/coverage of the read API.</p>
  </Page>
);
