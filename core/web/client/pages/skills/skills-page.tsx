/** The skills: their list, or one of them, as the address says. */
import { useAddress } from '../../address.ts';
import { SkillList } from './skill-list.tsx';
import { SkillView } from './skill-view.tsx';
import './skills-page.css';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function SkillsPage() {
  const { path } = useAddress();
  const id = path.split('/')[2] ?? '';
  return UUID.test(id) ? <SkillView key={id} id={id} /> : <SkillList />;
}
