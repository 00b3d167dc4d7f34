/** The client as a whole: the frame around the page that the address names, and what may open above both. */
import { LocationProvider } from 'preact-iso';
import { Frame } from './frame.tsx';
import { CopyByHand } from './parts/copy-by-hand.tsx';
import { Toasts } from './parts/toast.tsx';
import { Routes } from './routes.tsx';
import { TokenDialog } from './token-dialog.tsx';

export const App = () => (
  <LocationProvider>
    <Frame>
      <Routes />
    </Frame>
    <TokenDialog />
    <CopyByHand />
    <Toasts />
  </LocationProvider>
);
