/** The page that finds ids, words and meaning. */
import { Page } from '../../parts/page.tsx';

export const FindPage = () => (
  <Page name="find" title="Find" state="empty">
    <h1>Find</h1>
    <p>Sessions with given words are at /v1/browse/sessions?text= of the read API.</p>
  </Page>
);
