/** The line beside the heading of the list: what is new, what is selected, and the export. */
import { Icon } from '../../parts/icon.tsx';
import { grouped } from '../../parts/number-text.ts';

type ListToolsProps = {
  /** Sessions that came since the list was read. */
  waiting: number;
  selected: number;
  onShowNew: () => void;
  onExport: () => void;
  onUnselect: () => void;
};

export function ListTools({ waiting, selected, onShowNew, onExport, onUnselect }: ListToolsProps) {
  return (
    <div class="session-tools">
      <span role="status">
        {waiting > 0 && (
          <button type="button" class="new-sessions" data-new={waiting} title="Show them (n)" onClick={onShowNew}>
            {grouped(waiting)} new ↑
          </button>
        )}
      </span>
      {selected > 0 && (
        <button type="button" class="plain" onClick={onUnselect}>
          {selected} selected <Icon name="close" label="Unselect all" />
        </button>
      )}
      <button type="button" data-action="export" onClick={onExport}>
        <Icon name="download" /> Export {selected > 0 ? selected : '…'}
      </button>
    </div>
  );
}
