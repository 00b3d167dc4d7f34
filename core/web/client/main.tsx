/** The page's entry: what must come first, then the client in the document's `#app`. */
import './start.ts';
import './style/tokens.css';
import './style/base.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { listenToKeys } from './keys.ts';
import { startLive } from './store/live.ts';

startLive();
listenToKeys();
const root = document.querySelector('#app');
if (root) render(<App />, root);
