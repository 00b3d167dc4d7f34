/** The page of what was spent. */
import { Page } from '../../parts/page.tsx';

export const SpendPage = () => (
  <Page name="spend" title="Spend" state="empty">
    <h1>Spend</h1>
    <p>Totals are at /v1/stats of the read API.</p>
  </Page>
);
