/** What a person can do with a session: rename, star, export, delete, copy its link. */
import { useState } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { useAddress } from '../../address.ts';
import { editSession } from '../../api/session-edits.ts';
import { hrefOf } from '../../base.ts';
import { useKeys } from '../../keys.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { copyText } from '../../parts/copy-text.ts';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { showToast } from '../../parts/toast.tsx';
import { ExportDialog } from '../sessions/export-dialog.tsx';
import { DeleteDialog, RenameDialog } from '../sessions/row-dialogs.tsx';
import { useSession } from './session-store.ts';

export function SessionActions({ session }: { session: Session }) {
  const { put } = useSession();
  const { go } = useAddress();
  const [opened, setOpened] = useState<'rename' | 'delete' | 'export' | null>(null);
  const close = () => setOpened(null);
  const link = () => `${location.origin}${hrefOf(`/sessions/${session.id}`)}`;
  const star = () => {
    editSession(session.id, { starred: !session.starred }).then(put, (error) =>
      showToast(error instanceof Error ? error.message : 'The star could not be set'),
    );
  };
  useKeys(
    {
      r: { does: 'rename the session', run: () => setOpened('rename') },
      s: { does: 'star the session, or take the star away', run: star },
      x: { does: 'export the session', run: () => setOpened('export') },
      Delete: { does: 'delete the session', run: () => setOpened('delete') },
      c: { does: 'copy the link of the session', run: () => void copyText(link(), 'Link copied') },
    },
    { scope: 'Session' },
  );
  return (
    <span class="head-actions">
      <Action icon="edit" label="Rename" shortcut="r" onClick={() => setOpened('rename')} />
      <Action
        icon="star"
        label={session.starred ? 'Take the star away' : 'Star'}
        shortcut="s"
        isOn={session.starred}
        onClick={star}
      />
      <Action icon="download" label="Export" shortcut="x" onClick={() => setOpened('export')} />
      <CopyButton text={link} label="Copy the link" />
      <Action icon="delete" label="Delete" shortcut="Delete" onClick={() => setOpened('delete')} />
      {opened === 'export' && <ExportDialog ids={[session.id]} onClose={close} />}
      {opened === 'rename' && (
        <RenameDialog
          session={session}
          onClose={close}
          onDone={(edited) => {
            put(edited);
            close();
          }}
        />
      )}
      {opened === 'delete' && (
        <DeleteDialog
          session={session}
          onClose={close}
          onDone={() => {
            close();
            showToast('Deleted');
            go('/sessions', { replace: true });
          }}
        />
      )}
    </span>
  );
}

type ActionProps = { icon: IconName; label: string; shortcut: string; isOn?: boolean; onClick: () => void };

const Action = ({ icon, label, shortcut, isOn, onClick }: ActionProps) => (
  <button
    type="button"
    class={`plain ${isOn ? 'is-on' : ''}`}
    aria-label={label}
    aria-pressed={isOn}
    aria-keyshortcuts={shortcut}
    title={`${label} (${shortcut})`}
    onClick={onClick}
  >
    <Icon name={icon} />
  </button>
);
