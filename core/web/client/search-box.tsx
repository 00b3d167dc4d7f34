/** The search that stands on every page: Enter leads to what was found. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from './address.ts';
import { useKeys } from './keys.ts';

export function SearchBox() {
  const { go, path, query } = useAddress();
  const current = path === '/find' ? (query.get('q') ?? '') : '';
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  const input = useRef<HTMLInputElement>(null);
  useKeys({ '/': { does: 'find', run: () => input.current?.focus() } }, { scope: 'Everywhere' });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim() !== '') go(`/find?${new URLSearchParams({ q: text.trim() })}`);
  };
  const leave = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    input.current?.blur();
  };
  return (
    <search class="top-search">
      <form onSubmit={submit}>
        <input
          ref={input}
          type="search"
          name="q"
          aria-label="Find ids, words, meaning"
          aria-keyshortcuts="/"
          placeholder="Find  /"
          autocomplete="off"
          maxLength={500}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={leave}
        />
      </form>
    </search>
  );
}
