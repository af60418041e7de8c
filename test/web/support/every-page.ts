/** The pages of the dashboard, each with an address of it, and when one is there. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { packageFile } from '../../../src/config/package-root.ts';
import { until } from '../../support/until.ts';

/** What stands in an address. */
export interface Shown {
  readonly taskId: string;
  readonly accountId: string;
}

export interface VisitedPage {
  /** As the dashboard's source has it; absent: no route has this address. */
  readonly route?: string;
  readonly path: (shown: Shown) => string;
  /** In the navigation. */
  readonly link?: string;
}

const NOWHERE: VisitedPage = { path: () => '/no/such/page' };

/** The routes of `web/src/app.tsx`. */
export const ACCOUNT_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/', link: 'Start' },
  { route: '/models', path: () => '/models', link: 'Models' },
  { route: '/models/*', path: () => '/models/darkroom/scene' },
  { route: '/playground', path: () => '/playground', link: 'Playground' },
  { route: '/playground/*', path: () => '/playground/darkroom/canvas' },
  { route: '/playground/*', path: () => '/playground/darkroom/conformance-text' },
  { route: '/tasks', path: () => '/tasks', link: 'Tasks' },
  { route: '/tasks/:taskId', path: ({ taskId }) => `/tasks/${taskId}` },
  { route: '/storage', path: () => '/storage', link: 'Storage' },
  { route: '/keys', path: () => '/keys', link: 'Keys' },
  { route: '/webhooks', path: () => '/webhooks', link: 'Webhooks' },
  { route: '/usage', path: () => '/usage', link: 'Usage' },
  NOWHERE,
];

/** Those of `web/src/pages/admin/admin-app.tsx`. */
export const OPERATOR_PAGES: readonly VisitedPage[] = [
  { route: '/', path: () => '/' },
  { route: '/accounts', path: () => '/accounts', link: 'Accounts' },
  ...['', '/limits', '/ledger', '/usage'].map((part) => ({
    route: '/accounts/:accountId/:part?',
    path: ({ accountId }: Shown) => `/accounts/${accountId}${part}`,
  })),
  { route: '/service', path: () => '/service', link: 'Service' },
  { route: '/service/tasks/:taskId', path: ({ taskId }) => `/service/tasks/${taskId}` },
  NOWHERE,
];

/** The routes that a file of the dashboard has. */
export async function routesOf(file: string): Promise<readonly string[]> {
  const source = await readFile(packageFile(file), 'utf8');
  return [...source.matchAll(/<Route path="([^"]+)"/g)].map(([, route = '']) => route);
}

/** What is loaded by and by is there. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  const loading = page.locator('main .mantine-Loader-root');
  await until('everything is loaded', async () => (await loading.count()) === 0);
}

/** Goes there as a link of the dashboard does, without loading anything anew. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
}
