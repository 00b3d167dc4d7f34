/** The export of sessions as lines of JSON, with its progress and a way to stop it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { saveFile } from '../../api/download.ts';
import { type ExportDetail, type ExportProgress, exportSelected, exportWindow } from '../../api/export.ts';
import { isAbort } from '../../api/request.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Bytes } from '../../parts/figure.tsx';
import { Problem } from '../../parts/problem.tsx';

/** @param ids of the sessions that are selected; none: all that were active lately */
export function ExportDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const [detail, setDetail] = useState<ExportDetail>('spans');
  const [days, setDays] = useState(30);
  const [progress, setProgress] = useState<ExportProgress | null>(null);
  const [state, setState] = useState<'open' | 'running' | 'done'>('open');
  const [error, setError] = useState<unknown>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    setState('running');
    setError(null);
    setProgress(null);
    try {
      const options = { detail, signal, onProgress: setProgress };
      const file = ids.length > 0 ? await exportSelected(ids, options) : await exportWindow(days, options);
      saveFile(file.blob, file.name);
      setState('done');
    } catch (thrown) {
      setState('open');
      if (!isAbort(thrown)) setError(thrown);
    }
  };
  const what = ids.length === 0 ? 'all sessions' : ids.length === 1 ? 'this session' : `${ids.length} sessions`;
  return (
    <Dialog title={`Export ${what}`} onClose={onClose}>
      <p class="muted">One line of JSON for each session, with its prompts, steps and links.</p>
      {ids.length === 0 && (
        <label>
          Active in the last{' '}
          <select
            value={days}
            disabled={state === 'running'}
            onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}
          >
            {[1, 7, 30].map((each) => (
              <option key={each} value={each}>
                {each === 1 ? '24 hours' : `${each} days`}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        <input
          type="checkbox"
          checked={detail === 'traces'}
          disabled={state === 'running'}
          onChange={({ currentTarget }) => setDetail(currentTarget.checked ? 'traces' : 'spans')}
        />{' '}
        prompts only, without steps and links
      </label>
      <p role="status" data-export={state}>
        {progress && (
          <>
            {progress.sessions}
            {ids.length > 0 && ` of ${ids.length}`} {progress.sessions === 1 ? 'session' : 'sessions'},{' '}
            <Bytes count={progress.bytes} />
            {state === 'done' && ', saved'}
          </>
        )}
      </p>
      {error !== null && <Problem error={error} />}
      <div class="dialog-actions">
        <button type="button" onClick={state === 'running' ? () => running.current?.abort() : onClose}>
          {state === 'running' ? 'Stop' : 'Close'}
        </button>
        <button type="button" class="primary" disabled={state === 'running'} onClick={() => void start()}>
          Export
        </button>
      </div>
    </Dialog>
  );
}
