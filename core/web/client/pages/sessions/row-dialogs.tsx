/** The dialogs that rename and delete a session. */
import { useState } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { deleteSession, editSession } from '../../api/session-edits.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { grouped } from '../../parts/number-text.ts';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';

type DialogProps<Result> = { session: Session; onClose: () => void; onDone: (result: Result) => void };

export function RenameDialog({ session, onClose, onDone }: DialogProps<Session>) {
  const [name, setName] = useState(session.display_name ?? '');
  const { run, isRunning, error } = useRun(
    () => editSession(session.id, { display_name: name.trim() || null }),
    onDone,
  );
  const submit = (event: Event) => {
    event.preventDefault();
    run();
  };
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Name of your own
          <input
            name="display_name"
            maxLength={200}
            value={name}
            placeholder={session.rollup.title ?? session.rollup.preview ?? ''}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <p class="muted">Left empty, the session has the title again that it came with.</p>
        {error !== null && <Problem error={error} />}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isRunning}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ session, onClose, onDone }: DialogProps<void>) {
  const { run, isRunning, error } = useRun(() => deleteSession(session.id), onDone);
  return (
    <Dialog title="Delete this session?" onClose={onClose}>
      <p>
        <strong>
          <Recorded text={session.display_title.slice(0, 300)} />
        </strong>
      </p>
      <p>
        It goes from all lists and sums, for good. Its {grouped(session.raw_turn_count)} recorded{' '}
        {session.raw_turn_count === 1 ? 'call stays in the record with its' : 'calls stay in the record with their'}{' '}
        bytes, so that the record can still be proven unaltered. To remove the bytes as well:{' '}
        <code>POST /v1/admin/sessions/{session.id}/purge</code>
      </p>
      {error !== null && <Problem error={error} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isRunning} onClick={run}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}

/** A command that is under way, done, or failed with its reason. */
function useRun<Result>(command: () => Promise<Result>, onDone: (result: Result) => void) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = () => {
    setRunning(true);
    setError(null);
    command().then(onDone, (thrown) => {
      setRunning(false);
      setError(thrown);
    });
  };
  return { run, isRunning, error };
}
