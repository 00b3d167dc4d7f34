/** The page of the mounted cassettes. */
import { Page } from '../../parts/page.tsx';

export const CassettesPage = () => (
  <Page name="cassettes" title="Cassettes" state="empty">
    <h1>Cassettes</h1>
    <p>Cassettes are at /v1/cassettes of the read API.</p>
  </Page>
);
