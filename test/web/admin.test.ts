/**
 * The operator's pages in a browser, on the admin listener of a real Darkroom: the token and where it does not
 * appear, and accounts with their balances, limits and keys.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount, readAccount } from '../../src/accounts/accounts.ts';
import { ADMIN_TOKEN, expectAccessible, startOperatorPages } from './support/operator-page.ts';
import type { OperatorPages } from './support/operator-page.ts';

let pages: OperatorPages;
before(async () => {
  pages = await startOperatorPages();
});
after(() => pages?.stop());

const account = (id: string) => readAccount(pages.darkroom.testDatabase.database, id);

describe('signing in', () => {
  it('reports a wrong token, and keeps the right one for its tab, until the operator signs out', async () => {
    await pages.withPage(
      async (page) => {
        await page.goto(`${pages.url}/service`);
        await page.getByRole('textbox', { name: 'Operator token' }).fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByText('The operator token is invalid.').waitFor();
        await expectAccessible(page);

        await page.getByRole('textbox', { name: 'Operator token' }).fill(ADMIN_TOKEN);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Service', level: 1 }).waitFor();
        const kept = await page.evaluate('JSON.stringify([localStorage, document.cookie, location.href])');
        assert.ok(!String(kept).includes(ADMIN_TOKEN));
        assert.deepEqual(await page.context().cookies(), []);

        await page.reload();
        await page.getByRole('heading', { name: 'Service', level: 1 }).waitFor();

        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.reload();
        await page.getByRole('textbox', { name: 'Operator token' }).waitFor();
        assert.equal(await page.evaluate('sessionStorage.length'), 0);
        assert.equal(await page.getByRole('textbox', { name: 'Operator token' }).inputValue(), '');
      },
      { expect: /401/ },
    );
  });

  it('out clears everything that was shown', async () => {
    await pages.withPage(async (page) => {
      await pages.signIn(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor();
      assert.equal(await page.getByRole('navigation').count(), 0);
    });
  });
});

describe('accounts', () => {
  it('are created, found, and get a key that works', async () => {
    await pages.withPage(async (page) => {
      await pages.signIn(page);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click();
      await page.getByText('Enter a name.').waitFor();
      await page.getByRole('textbox', { name: 'Name' }).fill('Harbour studio');
      await page.getByRole('textbox', { name: 'Opening balance' }).fill('12.5');
      await expectAccessible(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Harbour studio', level: 1 }).waitFor();

      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('first program');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const key = await page.getByRole('textbox', { name: 'Key' }).inputValue();
      await expectAccessible(page);
      const answer = await fetch(`${pages.darkroom.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
      assert.equal(answer.status, 200);
      await page.keyboard.press('Escape');
      assert.ok(await page.getByRole('dialog').isVisible(), 'a key that is not stored yet is not lost by a slip');
      await page.getByRole('checkbox', { name: /I have stored this key/ }).check();
      await page.getByRole('button', { name: 'Done' }).click();

      await page.getByRole('button', { name: 'Actions for “first program”' }).click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
      await page.getByText('“first program” has been revoked.').waitFor();

      await page.getByRole('link', { name: 'All accounts' }).click();
      await page.getByRole('searchbox', { name: 'Find an account' }).fill('no account has this name');
      await page.getByRole('heading', { name: 'No accounts match' }).waitFor();
      await page.getByRole('searchbox', { name: 'Find an account' }).fill('HARBOUR');
      await page.getByRole('link', { name: 'Harbour studio' }).waitFor();
      await page.getByText('1 account shown').waitFor();
      await expectAccessible(page);
    });
  });

  it('say with which account they share their balance', async () => {
    const { id } = await pages.darkroom.createAccount({ usd: 3_000_000n });
    const project = await pages.darkroom.testDatabase.database.transaction((transaction) =>
      createAccount(transaction, 'project', {}, id),
    );
    await pages.withPage(async (page) => {
      await pages.signIn(page, `/accounts/${project}`);
      await page.getByText('$3.00').first().waitFor();
      await page.getByText('Balance shared with account').waitFor();
      await expectAccessible(page);

      await page.getByRole('link', { name: id }).click();

      await page.waitForURL(`**/accounts/${id}`);
      await page.getByText('Balance shared with account').waitFor({ state: 'detached' });
    });
  });

  it('say that there is no available balance, until funds are added', async () => {
    const { id } = await pages.darkroom.createAccount({ usd: 0n });
    await pages.withPage(async (page) => {
      await pages.signIn(page, `/accounts/${id}`);
      const alert = page.getByRole('alert', { name: 'No available balance' });
      await alert.waitFor();
      await expectAccessible(page);

      await page.getByRole('button', { name: 'Add funds' }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('1');
      await page.getByRole('dialog').getByRole('button', { name: 'Add funds' }).click();

      await alert.waitFor({ state: 'detached' });
    });
  });

  it('record a payment once, although its response was lost and it was sent again', async () => {
    const { id } = await pages.darkroom.createAccount({ usd: 1_000_000n });
    await pages.withPage(
      async (page) => {
        await pages.signIn(page, `/accounts/${id}`);
        await page.getByRole('button', { name: 'Add funds' }).click();
        await page.getByRole('textbox', { name: 'Amount' }).fill('0');
        await page.getByRole('dialog').getByRole('button', { name: 'Add funds' }).click();
        await page.getByText('Enter a positive amount in dollars').waitFor();
        await page.getByRole('textbox', { name: 'Amount' }).fill('2.5');

        // The service records it, and the response does not arrive.
        await page.route('**/top-up', async (route) => {
          await route.fetch();
          await route.abort();
        });
        await page.getByRole('dialog').getByRole('button', { name: 'Add funds' }).click();
        await page.getByText('There was no response').waitFor();
        await expectAccessible(page);
        await page.unroute('**/top-up');
        await page.getByRole('dialog').getByRole('button', { name: 'Add funds' }).click();
        await page.getByText('The payment was recorded only once.').first().waitFor();

        assert.equal((await account(id)).availableMicroUsd, 3_500_000n);
        await page.getByText('$3.50').first().waitFor();
      },
      { expect: /ERR_FAILED|400/ },
    );
  });

  it('are adjusted with a reason, down too', async () => {
    const { id } = await pages.darkroom.createAccount({ usd: 1_000_000n });
    await pages.withPage(async (page) => {
      await pages.signIn(page, `/accounts/${id}/ledger`);
      await page.getByRole('button', { name: 'Adjust balance' }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('−0.25');
      await page.getByRole('dialog').getByRole('button', { name: 'Adjust balance' }).click();
      await page.getByText('Enter a reason.').waitFor();
      await page.getByRole('textbox', { name: 'Reason' }).fill('charged twice');
      await page.getByRole('dialog').getByRole('button', { name: 'Adjust balance' }).click();
      await page.getByRole('cell', { name: 'Adjustment' }).waitFor();
      assert.equal((await account(id)).availableMicroUsd, 750_000n);
      await expectAccessible(page);
    });
  });

  it('are suspended once that is confirmed, for a reason that operators read, and resumed', async () => {
    const { id } = await pages.darkroom.createAccount();
    await pages.withPage(async (page) => {
      await pages.signIn(page, `/accounts/${id}/usage`);
      const suspend = page.getByRole('button', { name: 'Suspend', exact: true });
      const dialog = page.getByRole('dialog');
      await suspend.click();
      await dialog.waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      assert.equal((await account(id)).status, 'active');
      await suspend.click();
      await page.getByRole('textbox', { name: 'Reason' }).fill(' charged back ');
      await page.keyboard.press('Enter');
      await page.getByText('This account is suspended').waitFor();
      await page.getByText('charged back').waitFor();
      const { status, suspensionReason } = await account(id);
      assert.deepEqual([status, suspensionReason], ['suspended', 'charged back']);
      await expectAccessible(page);
      await page.getByRole('link', { name: 'All accounts' }).click();
      await page.getByRole('searchbox', { name: 'Find an account' }).fill(id);
      await page.getByText('1 account shown').waitFor();
      await page.getByRole('cell', { name: 'suspended charged back' }).waitFor();
      await expectAccessible(page);
      await page.goBack();

      await page.getByRole('button', { name: 'Resume' }).click();
      await suspend.waitFor();
      assert.equal(await page.getByText('charged back').count(), 0);
      assert.equal((await account(id)).status, 'active');

      await suspend.click();
      await dialog.getByRole('button', { name: 'Suspend account' }).click();
      await page.getByText('This account is suspended').waitFor();
      assert.equal(await page.getByText('Reason:').count(), 0, 'a reason is optional');
    });
  });

  it('have limits that are changed one by one', async () => {
    const { id } = await pages.darkroom.createAccount();
    const { limits } = await account(id);
    await pages.withPage(async (page) => {
      await pages.signIn(page, `/accounts/${id}/limits`);
      const field = page.getByRole('textbox', { name: 'Running tasks' });
      await field.fill('many');
      await page.getByText('Enter a whole number of at least 0.').waitFor();
      await field.fill('1,234');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('0 of 1,234').waitFor();
      assert.deepEqual((await account(id)).limits, { ...limits, runningCap: 1_234 });
    });
  });
});
