/** Asks for the bearer token when the service does not answer without one. */
import { useState } from 'preact/hooks';
import { Dialog } from './parts/dialog.tsx';
import { closeTokenDialog, saveToken, tokenRefused, tokenWanted } from './store/token.ts';

export const TokenDialog = () => (tokenWanted.value ? <Open /> : null);

function Open() {
  const [value, setValue] = useState('');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (value.trim() !== '') saveToken(value.trim());
  };
  return (
    <Dialog title="This service requires its token" onClose={closeTokenDialog}>
      <form onSubmit={submit}>
        <p>
          It is <code>api.token</code> of the service's configuration; <code>svc open</code> opens this page with it. It
          stays in this tab until the tab is closed.
        </p>
        {tokenRefused.value && <p role="alert">The service refused the token that it was sent.</p>}
        <label>
          Token
          <input
            class="wide"
            type="password"
            name="token"
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
        <p class="actions">
          <button type="submit" class="primary">
            Go on
          </button>
        </p>
      </form>
    </Dialog>
  );
}
