/** What a person can do with a session: rename, star, export, delete, copy its link. */
import type { Session } from '../../../../model/session.ts';
import { hrefOf } from '../../base.ts';
import { CopyButton } from '../../parts/copy-button.tsx';

export function SessionActions({ session }: { session: Session }) {
  return (
    <span class="session-actions">
      <CopyButton text={() => `${location.origin}${hrefOf(`/sessions/${session.id}`)}`} label="Copy the link" />
    </span>
  );
}
