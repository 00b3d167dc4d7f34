/** A button that copies a text. */
import { copyText } from './copy-text.ts';
import { Icon } from './icon.tsx';
import { showToast } from './toast.tsx';

type CopyButtonProps = {
  /** Or what makes it, when it is pressed. */
  text: string | (() => string | Promise<string>);
  label: string;
  /** Shown beside the icon; else the label is only spoken and in the tooltip. */
  children?: string;
};

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const copy = async () => {
    try {
      await copyText(typeof text === 'string' ? text : await text());
    } catch (error) {
      showToast(error instanceof Error ? error.message : 'It could not be copied');
    }
  };
  return (
    <button
      type="button"
      class="copy-button"
      title={label}
      aria-label={children ? undefined : label}
      onClick={() => void copy()}
    >
      <Icon name="copy" />
      {children}
    </button>
  );
}
