/** What a person can do with a session of the list, and the dialog that is open for it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { editSession } from '../../api/session-edits.ts';
import { hrefOf } from '../../base.ts';
import { copyText } from '../../parts/copy-text.ts';
import { showToast } from '../../parts/toast.tsx';
import { showDeleted, showEdited } from '../../store/session-list.ts';
import { ExportDialog } from './export-dialog.tsx';
import { DeleteDialog, RenameDialog } from './row-dialogs.tsx';

type Opened = { action: 'rename' | 'delete'; session: Session } | { action: 'export'; ids: readonly string[] };

export type RowActions = {
  copy: (session: Session) => void;
  star: (session: Session) => void;
  rename: (session: Session) => void;
  remove: (session: Session) => void;
  exportSome: (ids: readonly string[]) => void;
  dialog: ComponentChildren;
};

/** @param leave moves the focus before a row goes */
export function useRowActions(leave: (id: string) => void): RowActions {
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const star = (session: Session) => {
    editSession(session.id, { starred: !session.starred }).then(showEdited, (error) => {
      showToast(error instanceof Error ? error.message : 'The star could not be set');
    });
  };
  return {
    copy: ({ id }) => void copyText(`${location.origin}${hrefOf(`/sessions/${id}`)}`, 'Link copied'),
    star,
    rename: (session) => setOpened({ action: 'rename', session }),
    remove: (session) => setOpened({ action: 'delete', session }),
    exportSome: (ids) => setOpened({ action: 'export', ids }),
    dialog: opened && <OpenDialog opened={opened} close={close} leave={leave} />,
  };
}

function OpenDialog({ opened, close, leave }: { opened: Opened; close: () => void; leave: (id: string) => void }) {
  if (opened.action === 'export') return <ExportDialog ids={opened.ids} onClose={close} />;
  const { session } = opened;
  if (opened.action === 'rename')
    return (
      <RenameDialog
        session={session}
        onClose={close}
        onDone={(edited) => {
          showEdited(edited);
          close();
        }}
      />
    );
  return (
    <DeleteDialog
      session={session}
      onClose={close}
      onDone={() => {
        close();
        leave(session.id);
        showDeleted(session.id);
        showToast('Deleted');
      }}
    />
  );
}
