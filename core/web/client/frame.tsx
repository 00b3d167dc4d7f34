/** The frame of every page: the way to the others, the search, whether it is live, the theme, and the keys. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAddress } from './address.ts';
import { hrefOf } from './base.ts';
import { KeySheet } from './key-sheet.tsx';
import { useKeys } from './keys.ts';
import { LiveDot } from './live-dot.tsx';
import { Icon, type IconName } from './parts/icon.tsx';
import { showToast } from './parts/toast.tsx';
import { SearchBox } from './search-box.tsx';
import { type Theme, theme } from './store/preferences.ts';
import { isOutdated } from './store/version.ts';
import './frame.css';

const PLACES: readonly [path: string, name: string, icon: IconName, key?: string][] = [
  ['/sessions', 'Sessions', 'sessions', 'g s'],
  ['/spend', 'Spend', 'spend', 'g p'],
  ['/find', 'Find', 'find', 'g f'],
  ['/skills', 'Skills', 'skills', 'g k'],
  ['/cassettes', 'Cassettes', 'cassettes', 'g c'],
  ['/health', 'Health', 'health', 'g h'],
];

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

export function Frame({ children }: { children: ComponentChildren }) {
  const { path, go } = useAddress();
  const [isSheetOpen, setSheetOpen] = useState(false);
  const changeTheme = () => {
    theme.value = NEXT_THEME[theme.value];
    showToast(theme.value === 'auto' ? 'Theme: as the system' : `Theme: ${theme.value}`);
  };
  useKeys(
    {
      '?': { does: 'show these keys', run: () => setSheetOpen(true) },
      T: { does: 'change the theme', run: changeTheme },
      ...Object.fromEntries(PLACES.map(([to, name, , key]) => [key, { does: `go to ${name}`, run: () => go(to) }])),
    },
    { scope: 'Everywhere' },
  );
  const here = (to: string) => (to === '/sessions' && path === '/') || path === to || path.startsWith(`${to}/`);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href={hrefOf('/')}>
          svc
        </a>
        <SearchBox />
        <LiveDot />
        <button
          type="button"
          class="plain"
          title="Theme (T)"
          aria-label={`Theme: ${theme.value}`}
          aria-keyshortcuts="Shift+T"
          onClick={changeTheme}
        >
          <Icon name="theme" />
        </button>
        <button
          type="button"
          class="plain"
          title="Keys (?)"
          aria-label="Keys"
          aria-keyshortcuts="?"
          onClick={() => setSheetOpen(true)}
        >
          <kbd>?</kbd>
        </button>
        <a class="plain" href={hrefOf('/help')} title="Help" aria-label="Help">
          <Icon name="help" />
        </a>
      </header>
      <nav class="rail" aria-label="Pages">
        {PLACES.map(([to, name, icon, key]) => (
          <a href={hrefOf(to)} aria-current={here(to) ? 'page' : undefined} title={`${name} (${key})`}>
            <Icon name={icon} />
            <span>{name}</span>
          </a>
        ))}
      </nav>
      <div class="content">
        {isOutdated.value && (
          <p class="notice" role="status">
            svc was updated.{' '}
            <button type="button" onClick={() => location.reload()}>
              Load the page again
            </button>
          </p>
        )}
        {children}
      </div>
      {isSheetOpen && <KeySheet onClose={() => setSheetOpen(false)} />}
    </>
  );
}
