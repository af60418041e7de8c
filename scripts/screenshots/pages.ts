/** The pages of the screenshots, and how to get to each. */
import type { Page } from 'playwright-core';
import type { Life } from './life.ts';

export interface PhotographedPage {
  /** Of the page's files. */
  readonly name: string;
  /** Brings the signed-in browser there, and waits until the page is drawn. */
  readonly open: (page: Page, origin: string) => Promise<void>;
}

/** A page that only needs its path, without any action on it. */
function at(name: string, path: string, shows: string): PhotographedPage {
  return {
    name,
    async open(page, origin) {
      await page.goto(origin + path);
      await page.getByRole('heading', { name: shows }).first().waitFor();
      await settle(page);
    },
  };
}

/**
 * Pages keep their event streams open, so network idleness is no criterion: this is how long images take to be drawn.
 */
async function settle(page: Page): Promise<void> {
  await page.waitForTimeout(1500);
}

export async function signInAsAccount(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
}

/** The operator's token is stored only in the page's memory: from here on navigation uses links. */
export async function signInAsOperator(page: Page, origin: string, token: string): Promise<void> {
  await page.goto(origin);
  await page.getByRole('textbox', { name: 'Operator token' }).fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Accounts' }).waitFor();
}

/** Goes to a path like a link, without reloading the page. */
async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
}

function within(name: string, path: string, shows: string): PhotographedPage {
  return {
    name,
    async open(page) {
      await goWithin(page, path);
      await page.getByRole('heading', { name: shows }).first().waitFor();
      await settle(page);
    },
  };
}

export const SIGN_IN_PAGES: readonly PhotographedPage[] = [at('sign-in', '/sign-in', 'Sign in')];

export function accountPages({ taskId }: Life): readonly PhotographedPage[] {
  return [
    at('overview', '/', 'Welcome'),
    at('models', '/models', 'Models'),
    at('model', '/models/darkroom/scene', 'darkroom/scene'),
    {
      name: 'playground',
      async open(page, origin) {
        await page.goto(`${origin}/playground/darkroom/canvas`);
        await page
          .getByRole('textbox', { name: 'Prompt', exact: true })
          .fill('A lighthouse above a stormy sea at dusk');
        await page.getByRole('button', { name: /^Run/ }).click();
        await page.getByRole('button', { name: /new seed/ }).waitFor();
        await settle(page);
      },
    },
    {
      name: 'chat',
      async open(page, origin) {
        await page.goto(`${origin}/playground/darkroom/conformance-text`);
        await page.getByRole('combobox', { name: 'Reasoning effort' }).selectOption('high');
        await page.getByRole('textbox', { name: 'Your message' }).fill('Add up 12, 30 and 7, and count from 1 to 5.');
        await page.keyboard.press('Enter');
        await page.getByText(/^This conversation: about/).waitFor();
        await settle(page);
      },
    },
    at('tasks', '/tasks', 'Tasks'),
    at('task', `/tasks/${taskId}`, 'darkroom/motion'),
    at('storage', '/storage', 'Storage'),
    at('keys', '/keys', 'API keys'),
    {
      name: 'new-key',
      async open(page, origin) {
        await page.goto(`${origin}/keys`);
        await page.getByRole('button', { name: 'Create key' }).click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Print service');
        await settle(page);
      },
    },
    at('webhooks', '/webhooks', 'Webhooks'),
    at('usage', '/usage', 'Usage'),
    // As from a broken link.
    within('not-found', '/nowhere', 'Page not found'),
  ];
}

export const OPERATOR_SIGN_IN_PAGES: readonly PhotographedPage[] = [at('operator-sign-in', '/', 'Sign in as operator')];

export function operatorPages({ taskId, accountId }: Life): readonly PhotographedPage[] {
  return [
    within('operator-accounts', '/accounts', 'Accounts'),
    within('operator-account', `/accounts/${accountId}`, 'account'),
    within('operator-service', '/service', 'Service'),
    within('operator-task', `/service/tasks/${taskId}`, 'Task'),
  ];
}
