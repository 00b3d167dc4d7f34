/** The text that the browser did not let us copy, selected, so that a key copies it. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { textToCopy } from './copy-text.ts';
import { Dialog } from './dialog.tsx';

export function CopyByHand() {
  const text = textToCopy.value;
  return text === null ? null : <Box text={text} />;
}

function Box({ text }: { text: string }) {
  const ref = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => ref.current?.select(), []);
  const close = () => {
    textToCopy.value = null;
  };
  return (
    <Dialog title="Copy this text" onClose={close}>
      <p>The browser does not let this page write to the clipboard. The text is selected: Ctrl-C copies it.</p>
      <textarea ref={ref} class="wide" rows={8} readOnly value={text} aria-label="The text" dir="auto" />
    </Dialog>
  );
}
