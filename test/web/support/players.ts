/**
 * Plays a video or audio output in the dashboard like a user without a mouse: created in the playground, and played
 * there, on its task's page and in the storage. What the player shows is checked against the API.
 */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { ApiTask } from '../../support/api-client.ts';
import type { TestAccount } from '../../support/darkroom.ts';
import { until } from '@darkroom/testing/until';
import { expectNoViolations } from './signed-in-page.ts';
import type { SignedInPage } from './signed-in-page.ts';

/** The properties that are read from a player of the browser. */
interface Player {
  readonly duration: number;
  readonly currentTime: number;
  readonly paused: boolean;
  readonly seeking: boolean;
  /** 2: there is data for the current position. */
  readonly readyState: number;
  readonly error: { readonly message: string } | null;
  /** Only for videos. */
  readonly videoWidth?: number;
  readonly videoHeight?: number;
}

type Output = NonNullable<ApiTask['output']>[number] & { readonly durationSeconds?: number };

/** Containers count in packets, which are longer than a sample and shorter than this. */
const SAME_LENGTH_SECONDS = 0.15;
/** Enough for any page of ours: a focus that does not arrive by then never does. */
const MOST_TABS = 150;
const HAS_DATA = 2;

/**
 * Runs the model's first example and plays the output everywhere. @returns the status of each response with bytes of
 * it.
 */
export async function makeAndPlay(signedIn: SignedInPage, url: string, account: TestAccount, model: string) {
  const { page } = signedIn;
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() === 'media') statuses.push(response.status());
  });
  await page.goto(`${url}/playground/${model}?example=0`);
  await page.getByRole('button', { name: 'Run' }).press('Enter');
  const made = page.getByLabel(`Output 1 of ${model}`);
  await made.waitFor();
  const task = await onlyTaskOf(account);
  const [output] = (task.output ?? []) as readonly Output[];
  assert.ok(output);
  await playByKeyboard(page, made, output);
  await expectNoViolations(page);

  await page.getByRole('link', { name: 'Open the task' }).press('Enter');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await playByKeyboard(page, page.getByLabel(`${output.type} 1 made by ${model}`), output);
  await expectNoViolations(page);

  await page.getByRole('navigation').getByRole('link', { name: 'Storage' }).press('Enter');
  await page.getByRole('button', { name: `Look at ${output.type} of ${model}` }).press('Enter');
  const dialog = page.getByRole('dialog');
  await playByKeyboard(page, dialog.getByLabel(`${output.type} of ${model}`), output);
  await expectNoViolations(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  return statuses;
}

async function onlyTaskOf({ client }: TestAccount): Promise<ApiTask> {
  const { body } = await client.send('GET', '/v1/tasks');
  const { tasks } = body.data as unknown as { readonly tasks: readonly { readonly taskId: string }[] };
  const [task, ...others] = tasks;
  assert.ok(task);
  assert.deepEqual(others, [], 'one task for one press');
  return (await client.get(task.taskId)).body.data;
}

/** Focuses the player with the Tab key, plays it with the space bar, pauses it, and seeks to its middle. */
async function playByKeyboard(page: Page, player: Locator, output: Output): Promise<void> {
  await player.waitFor();
  await until('its length is known', async () => (await look(player)).duration > 0);
  const { duration, videoWidth, videoHeight } = await look(player);
  const { durationSeconds = 0 } = output;
  assert.ok(Math.abs(duration - durationSeconds) < SAME_LENGTH_SECONDS, `${duration} s and not ${durationSeconds} s`);
  if (output.mimeType.startsWith('video/')) {
    assert.deepEqual([videoWidth, videoHeight], [output.width, output.height]);
    const box = await player.boundingBox();
    assert.ok(box !== null && box.width > 0 && box.height > 0);
    const shownRatio = box.width / box.height;
    assert.ok(Math.abs(shownRatio / (output.width / output.height) - 1) < 0.05, `it is drawn as ${shownRatio}`);
  }

  await tabTo(page, player);
  await page.keyboard.press('Space');
  await until('it plays', async () => {
    const { currentTime, paused } = await look(player);
    return currentTime > 0.1 && !paused;
  });
  await page.keyboard.press('Space');
  await until('it is paused', async () => (await look(player)).paused);

  const middle = duration / 2;
  await player.evaluate((element, seconds) => {
    (element as unknown as { currentTime: number }).currentTime = seconds;
  }, middle);
  await until('it stands in its middle', async () => {
    const { seeking, readyState, currentTime } = await look(player);
    return !seeking && readyState >= HAS_DATA && Math.abs(currentTime - middle) < SAME_LENGTH_SECONDS;
  });
}

async function tabTo(page: Page, element: Locator): Promise<void> {
  const isThere = element.and(page.locator(':focus'));
  for (let presses = 0; (await isThere.count()) === 0; presses++) {
    assert.ok(presses < MOST_TABS, 'the Tab key comes to the player');
    await page.keyboard.press('Tab');
  }
}

/** @throws {assert.AssertionError} the player cannot play it. */
async function look(player: Locator): Promise<Player> {
  const seen = await player.evaluate((element): Player => {
    const { duration, currentTime, paused, seeking, readyState, error, videoWidth, videoHeight } =
      element as unknown as Required<Player>;
    const message = error === null ? null : { message: error.message };
    return { duration, currentTime, paused, seeking, readyState, error: message, videoWidth, videoHeight };
  });
  assert.equal(seen.error, null);
  return seen;
}
