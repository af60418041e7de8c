/**
 * The entry point of the dashboard.
 */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './global.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { setNonce } from 'get-nonce';
import { App } from './app.tsx';
import { pageFacts } from './page-facts.ts';

// The scroll lock of dialogs also writes a style element.
setNonce(pageFacts.nonce);

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
