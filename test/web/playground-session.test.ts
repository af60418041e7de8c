/**
 * What happens to conversations and runs in the playground when the user leaves the page, the connection is cut, the
 * service is unavailable for a while, or another user signs in.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { waitForImage } from './support/loaded-image.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import { SLOW_TALKER, slowTalker } from './support/slow-talker.ts';

const TALKER = 'darkroom/conformance-text';
/** That of `openSignedInPage`. */
const WINDOW_HEIGHT = 900;
/** What the browser logs about an unavailable service, and about a cut response. */
const AWAY = /net::ERR_/;

const talker = await slowTalker();
const darkroom = await startDarkroom({ environment: talker.environment });
const [api] = darkroom.apis;
const [worker] = darkroom.workers;
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
  await rm(talker.directory, { recursive: true, force: true });
});

async function open(path: string, width?: number) {
  const account = await darkroom.createAccount();
  const options = { url: darkroom.url, key: account.client.key, path, ...(width === undefined ? {} : { width }) };
  const signedIn = await openSignedInPage(browser, options);
  return { ...signedIn, account };
}

const message = (page: Page) => page.getByRole('textbox', { name: 'Your message' });
const log = (page: Page) => page.getByRole('log', { name: 'Conversation' });

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await page.keyboard.press('Enter');
}

/** Through the pages' own links: the page is never reloaded. */
async function goToModels(page: Page): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
}

describe('a conversation', () => {
  it('is still there when the user returns to its page, with the draft and the settings', async () => {
    const { page, close } = await open(`/playground/${TALKER}`);
    await page.getByRole('textbox', { name: 'System prompt' }).fill('Be brief.');
    await page.getByRole('button', { name: 'Add function' }).click();
    await say(page, 'Say: the kettle is on.');
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    await message(page).fill('And half a');

    await goToModels(page);
    await page.goBack();

    await log(page).getByText('Say: the kettle is on.').waitFor();
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    assert.equal(await message(page).inputValue(), 'And half a');
    assert.equal(await page.getByRole('textbox', { name: 'System prompt' }).inputValue(), 'Be brief.');
    assert.equal(await page.getByRole('group', { name: 'Function 1' }).count(), 1);
    await expectNoViolations(page);

    await page.getByRole('button', { name: 'New conversation' }).press('Enter');
    await page.getByText('Send a message to start').waitFor();
    await message(page).and(page.locator(':focus')).waitFor();
    await close();
  });

  it('continues while another page is open', async () => {
    const { page, close } = await open(`/playground/${SLOW_TALKER}`);
    await say(page, 'Count from 1 to 40.');
    await log(page)
      .getByText(/1, 2, 3/)
      .waitFor();

    await goToModels(page);
    await page.goBack();

    await log(page)
      .getByText(/39, 40/)
      .waitFor();
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    assert.equal(await page.getByText('You stopped the response.').count(), 0);
    await close();
  });

  it('can be stopped, and goes on from there', async () => {
    const { page, close } = await open(`/playground/${SLOW_TALKER}`);
    await say(page, 'Count from 1 to 1000.');
    await log(page)
      .getByText(/1, 2, 3/)
      .waitFor();
    await page.getByRole('button', { name: 'Stop' }).press('Enter');

    await page.getByText('You stopped the response.').waitFor();
    await message(page).and(page.locator(':focus')).waitFor();
    await expectNoViolations(page);
    await say(page, 'Say hello.');

    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    await close();
  });

  it('is followed to its end while it grows, unless one scrolls back', async () => {
    const { page, close } = await open(`/playground/${SLOW_TALKER}`, 375);
    await say(page, `Say: ${'line upon line, '.repeat(40)}`);
    const start = await page.evaluate<number>('scrollY');
    await waitFor('the page goes with it', async () => (await page.evaluate<number>('scrollY')) > start + 100);
    assert.ok(((await message(page).boundingBox())?.y ?? Infinity) < WINDOW_HEIGHT);

    await page.evaluate('scrollTo(0, 0)');
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    assert.equal(await page.evaluate('scrollY'), 0, 'whoever reads above is left alone');
    await close();
  });

  it('is hidden from a user who signs in in another window of the same browser', async () => {
    const { page, context, close } = await open(`/playground/${TALKER}`);
    await say(page, 'A secret: the key lies under the mat.');
    await log(page)
      .getByText(/tokens in/)
      .waitFor();

    const window = await context.newPage();
    await window.goto(darkroom.url);
    await window.getByRole('button', { name: 'Account' }).click();
    await window.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    const other = await darkroom.createAccount();
    await window.getByRole('textbox', { name: 'API key' }).fill(other.client.key);
    await window.keyboard.press('Enter');
    await window.getByRole('navigation', { name: 'Main' }).waitFor();
    // Windows of a headless browser are never hidden.
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");

    await page.getByText('Send a message to start').waitFor();
    assert.ok(!(await page.content()).includes('secret'));
    await close();
  });

  it('is hidden from the next user to sign in', async () => {
    const { page, expect, close } = await open(`/playground/${TALKER}`);
    await say(page, 'A secret: the key lies under the mat.');
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    await message(page).fill('Another secret');
    // After signing out, the page requests who is signed in.
    expect(/401/);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();

    const other = await darkroom.createAccount();
    await page.getByRole('textbox', { name: 'API key' }).fill(other.client.key);
    await page.keyboard.press('Enter');

    await page.getByText('Send a message to start').waitFor();
    assert.equal(await message(page).inputValue(), '');
    assert.ok(!(await page.content()).includes('secret'));
    const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    assert.ok(!stored.includes('secret'), 'nothing of it lies in the browser');
    await close();
  });

  it('says so when a response is interrupted, keeps the part received, and requests it again', async () => {
    const { page, expect, close } = await open(`/playground/${SLOW_TALKER}`, 375);
    expect(AWAY);
    await say(page, 'Count from 1 to 60.');
    await log(page)
      .getByText(/1, 2, 3/)
      .waitFor();

    await api?.kill();

    await page.getByText('The response was interrupted').waitFor();
    await log(page)
      .getByText(/1, 2, 3/)
      .waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Darkroom is not responding').waitFor();
    await expectNoViolations(page);
    await api?.start();
    await page.getByRole('button', { name: 'Try again' }).click();
    await message(page).and(page.locator(':focus')).waitFor();
    await log(page)
      .getByText(/59, 60/)
      .waitFor();
    await log(page)
      .getByText(/tokens in/)
      .waitFor();
    assert.equal(await page.getByText('The response was interrupted').count(), 0);
    await close();
  });
});

/** Watches from now on. @returns what is fulfilled when the first event of a task has arrived at the page. */
async function watchEvents(context: BrowserContext, page: Page): Promise<{ readonly arrived: Promise<void> }> {
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const streams = new Set<string>();
  const arrived = new Promise<void>((resolve) => {
    session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (request.url.endsWith('/events')) streams.add(requestId);
    });
    session.on('Network.dataReceived', ({ requestId, dataLength }) => {
      if (streams.has(requestId) && dataLength > 0) resolve();
    });
  });
  return { arrived };
}

describe('a run', () => {
  it('is lost from sight while the service is away, and its result arrives all the same', async () => {
    const { page, context, expect, close } = await open('/playground/darkroom/motion?example=0');
    expect(AWAY);
    await worker?.kill('SIGTERM');
    const { arrived } = await watchEvents(context, page);
    await page.getByRole('button', { name: 'Run' }).click();
    await page
      .getByText(/Queued/)
      .first()
      .waitFor();
    // Otherwise there is no event after which the page could resume.
    await arrived;

    await api?.kill();
    await page.getByText('The connection to Darkroom was lost').waitFor();
    await expectNoViolations(page);
    const resumed = page.waitForRequest(
      (request) => request.url().endsWith('/events') && Number(request.headers()['last-event-id']) > 0,
    );
    await api?.start();
    await resumed;
    await page.getByText('The connection to Darkroom was lost').waitFor({ state: 'detached' });
    await worker?.start();

    await page.getByLabel('Output 1 of darkroom/motion').waitFor();
    await page.getByText(/cost \$/).waitFor();
    await close();
  });

  it('that could not be sent is sent once when the computer is on the network again', async () => {
    const { page, context, expect, close, account } = await open('/playground/darkroom/scene');
    expect(AWAY);
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A quiet bay');
    await page.getByText('Costs up to $', { exact: false }).waitFor();

    await context.setOffline(true);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('Darkroom is not responding').waitFor();
    await expectNoViolations(page);
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();

    const image = page.getByRole('img', { name: 'Output 1 of darkroom/scene' });
    await image.waitFor();
    await waitForImage(image);
    const { body } = await account.client.send('GET', '/v1/tasks');
    assert.equal((body.data as unknown as { readonly total: number }).total, 1);
    await waitFor('no error is shown anymore', async () => (await page.getByText('is not responding').count()) === 0);
    await close();
  });
});
