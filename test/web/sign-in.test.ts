/**
 * Signing in with a browser, with a key and with a link, and what third parties can do with a session: nothing from
 * another page, even on the same site, and nothing from a script.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createSignInLink, signInUrl } from '../../src/accounts/sessions.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { expectNoViolations } from './support/signed-in-page.ts';

let darkroom: Darkroom;
let account: TestAccount;
let browser: Browser;
/** A third party's page, on another port of this machine: another origin, and the same site. */
let elsewhere: Server;
let elsewhereUrl: string;
before(async () => {
  darkroom = await startDarkroom({ workers: 0 });
  account = await darkroom.createAccount();
  browser = await launchBrowser();
  elsewhere = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>elsewhere</title>');
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  elsewhereUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
});
after(async () => {
  await browser?.close();
  elsewhere?.close();
  await darkroom?.stop();
});

async function withContext(work: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
  const context = await browser.newContext();
  try {
    await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

async function signIn(page: Page): Promise<void> {
  await page.goto(darkroom.url);
  await page.getByRole('textbox', { name: 'API key' }).fill(account.client.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}

/** Evaluated in the page: a user returns to it, and it reloads its data. */
const RETURN_TO_PAGE = `(async () => {
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
})()`;

async function newLink(): Promise<string> {
  const link = await createSignInLink(darkroom.testDatabase.database, account.keyId, Date.now());
  return signInUrl(darkroom.url, link.secret);
}

describe('signing in', () => {
  it('by a key shows the pages, and a wrong one is reported', async () => {
    await withContext(async (page) => {
      await page.goto(`${darkroom.url}/tasks`);
      await page.getByRole('textbox', { name: 'API key' }).fill('dk_live_wrong');
      await page.keyboard.press('Enter');
      await page.getByText('This key is invalid').waitFor();
      await expectNoViolations(page);

      await page.getByRole('textbox', { name: 'API key' }).fill(account.client.key);
      await page.keyboard.press('Enter');
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      assert.equal(new URL(page.url()).pathname, '/tasks', 'the requested page is shown after signing in');
    });
  });

  it('by a link works once, and leaves nothing of it in the address', async () => {
    const url = await newLink();
    await withContext(async (page) => {
      await page.goto(url);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      assert.equal(page.url(), `${darkroom.url}/`);
      await page.goBack().catch(() => undefined);
      assert.ok(!page.url().includes('#'), page.url());
    });
    await withContext(async (page) => {
      await page.goto(url);
      await page.getByText('this sign-in link has already been used').waitFor();
      await page.getByRole('textbox', { name: 'API key' }).waitFor();
    });
  });

  it('ends in one browser or in all of them', async () => {
    await withContext(async (page, context) => {
      await signIn(page);
      await withContext(async (other) => {
        await signIn(other);
        await page.getByRole('button', { name: 'Account' }).click();
        await page.getByRole('menuitem', { name: 'Sign out everywhere' }).click();
        await page.getByRole('textbox', { name: 'API key' }).waitFor();
        assert.deepEqual(await context.cookies(), []);

        await other.reload();
        await other.getByRole('textbox', { name: 'API key' }).waitFor();
      });
    });
  });

  it('sends nothing else while it is being ended, which would be rejected', async () => {
    await withContext(async (page) => {
      await signIn(page);
      const sent: string[] = [];
      await page.route('**/session', async (route, request) => {
        if (request.method() !== 'DELETE') return route.continue();
        const response = await route.fetch();
        page.on('request', (other) => sent.push(`${other.method()} ${other.url()}`));
        await page.evaluate(RETURN_TO_PAGE);
        return route.fulfill({ response });
      });

      await page.getByRole('button', { name: 'Account' }).click();
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
      await page.getByRole('textbox', { name: 'API key' }).waitFor();

      assert.deepEqual(sent, []);
      assert.equal(await page.getByText('Your session has expired').count(), 0);
    });
  });
});

describe('a session', () => {
  it('is in a cookie that no script reads and no other site sends', async () => {
    await withContext(async (page, context) => {
      await signIn(page);
      const [cookie, ...more] = await context.cookies();
      assert.ok(cookie);
      assert.deepEqual(more, []);
      assert.deepEqual(
        [cookie.httpOnly, cookie.sameSite, cookie.path, cookie.domain],
        [true, 'Strict', '/', '127.0.0.1'],
      );
      assert.equal(await page.evaluate('document.cookie'), '');
      const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
      assert.ok(!String(stored).includes('dk_live_') && !String(stored).includes(cookie.value));
    });
  });

  it('is of no use to a page of another origin, although the browser would send the cookie there', async () => {
    await withContext(async (page) => {
      await signIn(page);
      await page.goto(elsewhereUrl);
      const url = `${darkroom.url}/v1/account`;
      const tried = await page.evaluate(
        `(async () => {
          const outcomes = [];
          for (const options of [
            {}, { mode: 'no-cors' }, { headers: { 'X-Darkroom-Dashboard': '1' } },
            { method: 'POST', mode: 'no-cors', body: '{}' },
            { method: 'DELETE', headers: { 'X-Darkroom-Dashboard': '1' } },
          ]) {
            try {
              const answer = await fetch(${JSON.stringify(url)}, { credentials: 'include', ...options });
              outcomes.push(answer.type + ' ' + answer.status);
            } catch (error) { outcomes.push('rejected'); }
          }
          return outcomes;
        })()`,
      );
      // The one that gets through is opaque to the page; only from outside its 401 is visible.
      assert.deepEqual(tried, ['rejected', 'rejected', 'rejected', 'rejected', 'rejected']);

      const answered = page.waitForResponse(`${darkroom.url}/session`);
      await page.evaluate(
        `(() => {
          const form = document.createElement('form');
          form.method = 'POST';
          form.enctype = 'text/plain';
          form.action = ${JSON.stringify(`${darkroom.url}/session`)};
          document.body.append(form);
          form.submit();
        })()`,
      );
      assert.ok([403, 415].includes((await answered).status()));
    });
  });

  it('lasts over a reload, and its pages run nothing that is slipped into them', async () => {
    await withContext(async (page) => {
      const breaches: string[] = [];
      await page.exposeFunction('reportBreach', (breach: string) => breaches.push(breach));
      await signIn(page);
      await page.reload();
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      await page.evaluate(
        `document.addEventListener('securitypolicyviolation', (event) => window.reportBreach(event.violatedDirective));
         const script = document.createElement('script');
         script.textContent = 'window.slippedIn = true';
         document.body.append(script);
         const image = document.createElement('img');
         image.setAttribute('onerror', 'window.slippedIn = true');
         image.src = 'data:,';
         document.body.append(image);
         const foreign = document.createElement('script');
         foreign.src = ${JSON.stringify(elsewhereUrl)};
         document.body.append(foreign);`,
      );
      await page.waitForFunction('performance.now() > 0');
      assert.equal(await page.evaluate('window.slippedIn'), undefined);
      await assert.rejects(async () => page.evaluate(`fetch(${JSON.stringify(elsewhereUrl)})`));
      for (const directive of ['script-src', 'connect-src']) {
        await waitFor(`the page reports ${directive}`, () => breaches.some((breach) => breach.startsWith(directive)));
      }
    });
  });
});
