/** The name of a tool, whose calls alone are looked through. It is taken when it is entered or left. */
import { useEffect, useState } from 'preact/hooks';

export function ToolFilter({ tool, onChange }: { tool: string; onChange: (tool: string) => void }) {
  const [typed, setTyped] = useState(tool);
  useEffect(() => setTyped(tool), [tool]);
  const take = () => {
    if (typed.trim() !== tool) onChange(typed.trim());
  };
  return (
    <input
      type="text"
      name="tool"
      class={tool === '' ? 'tool-filter' : 'tool-filter picked'}
      aria-label="Name of a tool"
      placeholder="tool, as Bash"
      autocomplete="off"
      spellcheck={false}
      maxLength={200}
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      onChange={take}
      onKeyDown={({ key }) => {
        if (key === 'Enter') take();
      }}
    />
  );
}
