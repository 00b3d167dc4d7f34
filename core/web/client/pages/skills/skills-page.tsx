/** The page of the distilled skills. */
import { Page } from '../../parts/page.tsx';

export const SkillsPage = () => (
  <Page name="skills" title="Skills" state="empty">
    <h1>Skills</h1>
    <p>Skills are at /v1/cassettes/skills of the read API.</p>
  </Page>
);
