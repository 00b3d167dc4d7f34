/** The sheet of keys, made of what is registered right now. */
import { keysChanged, registeredKeys } from './keys.ts';
import { Dialog } from './parts/dialog.tsx';
import { letterKeys } from './store/preferences.ts';
import './key-sheet.css';

const NAMES: Readonly<Record<string, string>> = {
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  ' ': 'Space',
};

export function KeySheet({ onClose }: { onClose: () => void }) {
  const sheets = keysChanged.value >= 0 ? [...registeredKeys()].filter(([scope]) => scope !== 'dialog') : [];
  const isOn = letterKeys.value === 'on';
  return (
    <Dialog title="Keys" onClose={onClose}>
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={() => {
            letterKeys.value = isOn ? 'off' : 'on';
          }}
        />
        Single letters and signs are commands
      </label>
      {sheets.map(([scope, rows]) => (
        <section key={scope}>
          <h3>{scope}</h3>
          <dl class="key-sheet">
            {rows.map(([key, does]) => (
              <div key={key}>
                <dt>
                  {strokesOf(key).map((stroke) => (
                    <kbd key={stroke}>{NAMES[stroke] ?? stroke}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

const strokesOf = (key: string): string[] => (key === ' ' ? [key] : key.split(' '));
