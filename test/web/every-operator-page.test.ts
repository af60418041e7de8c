/** Every page of an operator, with content, is as usable as `support/usable-page.ts` specifies. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { OPERATOR_PAGES, routesOf, settled } from './support/every-page.ts';
import type { Shown } from './support/every-page.ts';
import { startOperatorPages } from './support/operator-page.ts';
import type { OperatorPages } from './support/operator-page.ts';
import {
  ANY,
  WIDE_MICRO_USD,
  expectNavigable,
  expectUsable,
  expectUsableWhenNarrow,
  linksOf,
} from './support/usable-page.ts';

describe('every page of an operator', () => {
  let pages: OperatorPages;
  let shown: Shown;
  before(async () => {
    pages = await startOperatorPages();
    const { id, client } = await pages.darkroom.createAccount({ usd: WIDE_MICRO_USD });
    const { body } = await client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    shown = { taskId: body.data.taskId, accountId: id };
  });
  after(() => pages?.stop());

  it('is in the table of this test', async () => {
    assert.deepEqual(
      new Set(await routesOf('packages/dashboard/src/pages/admin/admin-app.tsx')),
      new Set(OPERATOR_PAGES.map(({ route }) => route).filter((route) => route !== undefined)),
    );
  });

  for (const { route, path } of OPERATOR_PAGES) {
    it(`${path(ANY)} is walked by keyboard, fits, and has a title`, async () => {
      const walk = async (page: Page): Promise<void> => {
        await pages.signIn(page, path(shown));
        await expectUsable(page);
        assert.match(await page.title(), / · Operator · Darkroom$/);
        await expectUsableWhenNarrow(page);
      };
      await pages.withPage(walk, route === undefined ? { expect: /status of 404/ } : {});
    });
  }

  it('is reached from the navigation, by keyboard alone', async () => {
    await pages.withPage(async (page) => {
      await pages.signIn(page, '/service');
      await settled(page);
      await expectNavigable(page, linksOf(OPERATOR_PAGES));
    });
  });

  it('before the token is typed is walked by keyboard too', async () => {
    await pages.withPage(async (page) => {
      await page.goto(`${pages.url}/service`);
      await page.getByRole('textbox', { name: 'Operator token' }).and(page.locator(':focus')).waitFor();
      await expectUsable(page);
    });
  });
});
