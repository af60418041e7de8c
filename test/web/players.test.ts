/** Speech, video, sounds and music in a real browser: they play where they are shown, on all pages of the dashboard. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { makeAndPlay } from './support/players.ts';
import { openSignedInPage } from './support/signed-in-page.ts';

const darkroom = await startDarkroom();
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
});

describe('in the playground, on the page of its task, and among what is stored', () => {
  for (const model of ['darkroom/speech', 'darkroom/motion', 'darkroom/sound', 'darkroom/instrumental']) {
    it(`what ${model} made is played by the keyboard alone, from parts of its file`, async () => {
      const account = await darkroom.createAccount();
      const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });

      const statuses = await makeAndPlay(signedIn, darkroom.url, account, model);

      assert.deepEqual([...new Set(statuses)], [206]);
      await signedIn.close();
    });
  }
});
