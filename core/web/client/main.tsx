/** The page's entry: shows the client in the document's `#app`. */
import { render } from 'preact';

const root = document.querySelector('#app');
if (root) render(<h1>svc</h1>, root);
