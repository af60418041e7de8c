/**
 * The dashboard begins here.
 */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './global.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { setNonce } from 'get-nonce';
import { App } from './app.tsx';
import { pageFacts } from './page-facts.ts';

// What locks scrolling behind a dialog writes a style element too.
setNonce(pageFacts.nonce);

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
