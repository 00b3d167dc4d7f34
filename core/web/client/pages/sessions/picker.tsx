/** A button that opens a small panel below itself; Escape and a click beside it close the panel. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import './picker.css';

type PickerProps = {
  /** What is picked, as `Project`. */
  label: string;
  /** What is picked now; null: nothing. */
  value: ComponentChildren | null;
  /** @param close closes it and puts the focus back on the button */
  children: (close: () => void) => ComponentChildren;
};

export function Picker({ label, value, children }: PickerProps) {
  const [isOpen, setOpen] = useState(false);
  const panelId = useId();
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const closeBeside = ({ target }: Event) => {
      if (target instanceof Node && !root.current?.contains(target)) setOpen(false);
    };
    document.addEventListener('pointerdown', closeBeside);
    document.addEventListener('focusin', closeBeside);
    return () => {
      document.removeEventListener('pointerdown', closeBeside);
      document.removeEventListener('focusin', closeBeside);
    };
  }, [isOpen]);
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it takes Escape from what is in it, and is nothing to press
    <div class="picker" ref={root} onKeyDown={closeOnEscape}>
      <button
        type="button"
        ref={button}
        class={value === null ? 'picker-button' : 'picker-button picked'}
        aria-expanded={isOpen}
        aria-controls={isOpen ? panelId : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="picker-value">
          {label}
          {value !== null && <>: {value}</>}
        </span>{' '}
        <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <fieldset class="picker-panel" id={panelId}>
          <legend class="spoken">{label}</legend>
          {children(close)}
        </fieldset>
      )}
    </div>
  );
}
