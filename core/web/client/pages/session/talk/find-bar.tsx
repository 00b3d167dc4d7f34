/** The bar that finds words in the session, with how many steps hold them. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../../../parts/icon.tsx';
import './find-bar.css';

type FindBarProps = {
  sought: string;
  hits: number;
  at: number; // which of them is shown, 0 first; -1: none
  read: number; // steps whose whole text was searched
  of: number;
  onInput: (sought: string) => void;
  onNext: (step: 1 | -1) => void;
  onClose: () => void;
};

export function FindBar({ sought, hits, at, read, of, onInput, onNext, onClose }: FindBarProps) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const { current } = input;
    const before = document.activeElement;
    current?.focus();
    return () => {
      if (document.activeElement === current && before instanceof HTMLElement) before.focus();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') onNext(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <search class="find-bar">
      <input
        ref={input}
        type="search"
        aria-label="Find in this session"
        placeholder="find in this session"
        value={sought}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span role="status" data-hits={hits}>
        {sought !== '' && `${hits === 0 ? 'not found' : `${at + 1} of ${hits} ${hits === 1 ? 'step' : 'steps'}`}`}
        {sought !== '' && read < of && (
          <span class="muted">
            {' '}
            · {read.toLocaleString('en')} of {of.toLocaleString('en')} steps read
          </span>
        )}
      </span>
      <button type="button" class="plain" aria-label="Hit before" title="Hit before (N)" onClick={() => onNext(-1)}>
        ↑
      </button>
      <button type="button" class="plain" aria-label="Next hit" title="Next hit (n)" onClick={() => onNext(1)}>
        ↓
      </button>
      <button type="button" class="plain" aria-label="Close find" title="Close (Esc)" onClick={onClose}>
        <Icon name="close" />
      </button>
    </search>
  );
}
