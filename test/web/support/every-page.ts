/** The pages of the dashboard, each with a path, and how to detect that one is loaded. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { packageFile } from '../../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** The ids in a path. */
export interface Shown {
  readonly taskId: string;
  readonly accountId: string;
}

export interface VisitedPage {
  /** As in the dashboard's source; absent: no route matches this path. */
  readonly route?: string;
  readonly path: (shown: Shown) => string;
  /** In the navigation. */
  readonly link?: string;
}

const NOWHERE: VisitedPage = { path: () => '/no/such/page' };

/** The routes of `packages/dashboard/src/app.tsx`. */
export const ACCOUNT_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/', link: 'Overview' },
  { route: '/models', path: () => '/models', link: 'Models' },
  { route: '/models/*', path: () => '/models/darkroom/scene' },
  { route: '/playground', path: () => '/playground', link: 'Playground' },
  { route: '/playground/*', path: () => '/playground/darkroom/canvas' },
  { route: '/playground/*', path: () => '/playground/darkroom/conformance-text' },
  { route: '/tasks', path: () => '/tasks', link: 'Tasks' },
  { route: '/tasks/:taskId', path: ({ taskId }) => `/tasks/${taskId}` },
  { route: '/storage', path: () => '/storage', link: 'Storage' },
  { route: '/keys', path: () => '/keys', link: 'API keys' },
  { route: '/webhooks', path: () => '/webhooks', link: 'Webhooks' },
  { route: '/usage', path: () => '/usage', link: 'Usage' },
  NOWHERE,
];

/** The routes of `packages/dashboard/src/pages/admin/admin-app.tsx`. */
export const OPERATOR_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/' },
  { route: '/accounts', path: () => '/accounts', link: 'Accounts' },
  ...['', '/limits', '/ledger', '/usage'].map((part) => ({
    route: '/accounts/:accountId/:part?',
    path: ({ accountId }: Shown) => `/accounts/${accountId}${part}`,
  })),
  { route: '/work', path: () => '/work', link: 'Work' },
  { route: '/service', path: () => '/service', link: 'Service' },
  { route: '/service/tasks/:taskId', path: ({ taskId }) => `/service/tasks/${taskId}` },
  NOWHERE,
];

/** The routes in a file of the dashboard. */
export async function routesOf(file: string): Promise<readonly string[]> {
  const source = await readFile(packageFile(file), 'utf8');
  return [...source.matchAll(/<Route path="([^"]+)"/g)].map(([, route = '']) => route);
}

/** Waits until lazily loaded content is shown. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  const loading = page.locator('main .mantine-Loader-root');
  await waitFor('everything is loaded', async () => (await loading.count()) === 0);
}

/** Goes there like a link of the dashboard, without reloading. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
}
