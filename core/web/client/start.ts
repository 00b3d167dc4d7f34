/** What has to happen before any other module of the page runs: the token leaves the address, and the theme is set. */
import { showPreferences } from './store/preferences.ts';
import { takeTokenFromAddress } from './store/token.ts';

takeTokenFromAddress();
addEventListener('hashchange', takeTokenFromAddress); // such a link may be opened in a tab that shows us already
showPreferences();
