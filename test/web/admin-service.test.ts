/** The operator's pages about the service, in a browser: models, queues, upstreams, repairs, and any one task. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { recordRepairs } from '../../src/tasks/repair/repair-record.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { acquireSlot } from '../../src/upstreams/slots.ts';
import { countUpstreamFailure, pauseUpstream } from '../../src/upstreams/states.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { goWithin, settled } from './support/every-page.ts';
import { WORKFLOWS, expectAccessible, startOperatorPages } from './support/operator-page.ts';
import type { OperatorPages } from './support/operator-page.ts';

let pages: OperatorPages;
before(async () => {
  pages = await startOperatorPages();
});
after(() => pages?.stop());

async function newTask({ client }: TestAccount): Promise<TaskId> {
  const { status, body } = await client.create({ model: 'darkroom/scene', input: { prompt: 'a secret pier' } });
  assert.equal(status, 200, JSON.stringify(body));
  return body.data.taskId as TaskId;
}

describe('the service', () => {
  it('is shown with its models, queues and upstreams, and leads to a task', async () => {
    const { database } = pages.darkroom.testDatabase;
    await database.query({
      name: 'test_cost',
      text: `INSERT INTO task_costs (task_id, account_id, model, upstream, cost_micro_usd, source, captured_micro_usd)
             VALUES ('tk-1', 'acc_1', 'acme/images', 'one', 20000, 'reported', 10000)`,
    });
    await pauseUpstream(database, 'slow', 600_000);
    for (let failure = 0; failure < 5; failure++) await countUpstreamFailure(database, 'broken');
    const owner = await pages.darkroom.createAccount();
    const taskId = await newTask(owner);
    assert.ok(await acquireSlot(database, 'capped', { taskId, accountId: owner.id }, 3));
    await pages.withPage(async (page) => {
      await pages.signIn(page, '/service');
      await page.getByText(/^1 failing, 1 in cooldown, \d+ not used in the last hour/).waitFor();
      await page.getByRole('row', { name: /broken circuit open/ }).waitFor();
      await page.getByRole('row', { name: /^capped unknown .*1 of 3 0 Drain capped$/ }).waitFor();
      await page.getByRole('row', { name: /^replicate:127\.0\.0\.1:9 unknown .*no limit 0 Drain / }).waitFor();
      await page.getByRole('row', { name: /test 1 of 100/ }).waitFor();
      await page.getByRole('button', { name: 'Drain capped' }).click();
      await page.getByRole('row', { name: /^capped drained none resumed .*1 of 3/ }).waitFor();
      await page.getByText(/^1 failing, 1 in cooldown, 1 drained, \d+ not used/).waitFor();
      await page.getByRole('button', { name: 'Resume capped' }).click();
      await page.getByRole('row', { name: /^capped unknown / }).waitFor();
      await page.getByText('1 row is sold below cost.').waitFor();
      await page.getByRole('row', { name: /^acme\/images 1 0 \$0\.01 \$0\.02 −\$0\.01 1 0$/ }).waitFor();
      await page.getByLabel('Group by').selectOption('upstream');
      await page.getByRole('row', { name: /^one 1 / }).waitFor();
      await page.getByRole('button', { name: 'Show models' }).click();
      await page.getByRole('cell', { name: 'darkroom/scene', exact: true }).waitFor();
      await expectAccessible(page);
      assert.equal(
        await page.getByRole('link', { name: 'Temporal Web UI' }).getAttribute('href'),
        `${WORKFLOWS}/namespaces/${pages.darkroom.namespace}/workflows?query=WorkflowType%3D%22mediaTask%22`,
      );

      await page.getByRole('textbox', { name: 'Find a task' }).fill('tk-svc-1');
      await page.getByRole('button', { name: 'Find', exact: true }).click();
      await page.getByText('Enter a task ID: tk-svc-').waitFor();
      await page.getByRole('textbox', { name: 'Find a task' }).fill(taskId);
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Timeline' }).getByText('Created', { exact: true }).waitFor();
      assert.equal(
        await page.getByRole('link', { name: 'View the workflow in Temporal' }).getAttribute('href'),
        `${WORKFLOWS}/namespaces/${pages.darkroom.namespace}/workflows/${taskId}`,
      );
      assert.ok(!(await page.content()).includes('secret pier'), 'operators cannot read what the owner sent');
      await expectAccessible(page);
      await page.getByRole('link', { name: owner.id }).click();
      await page.getByRole('heading', { name: 'test', level: 1 }).waitFor();
    });
  });

  it('lists the tasks of all accounts by status, and leads to one', async () => {
    const owner = await pages.darkroom.createAccount();
    const taskId = await newTask(owner);
    await pages.withPage(async (page) => {
      await pages.signIn(page, '/work');
      await page.getByRole('textbox', { name: 'Account ID' }).fill(owner.id);
      await page.getByText('Nothing matches.').waitFor();
      await page.getByRole('combobox', { name: 'Status' }).selectOption('');
      await page.getByRole('link', { name: taskId }).waitFor();
      assert.ok(!(await page.content()).includes('secret pier'), 'operators cannot read what the owner sent');
      await expectAccessible(page);
      await page.getByRole('combobox', { name: 'Kind' }).selectOption('text_call');
      await page.getByText('Nothing matches.').waitFor();
      await page.getByRole('combobox', { name: 'Kind' }).selectOption('task');
      await page.getByRole('link', { name: taskId }).click();
      await page.getByRole('region', { name: 'Timeline' }).waitFor();
    });
  });

  it('shows a model file that became invalid with the reason, until it is repaired', async () => {
    const file = path.join(pages.modelsDir, 'openai.json');
    const valid = await readFile(file, 'utf8');
    await pages.withPage(async (page) => {
      await writeFile(file, valid.replace('"typicalSeconds":2', '"typicalSeconds":"soon"'));
      await pages.signIn(page, '/service');
      const alert = page.getByRole('alert').filter({ hasText: '1 error in the model files' });
      await alert.waitFor();
      assert.match(await alert.innerText(), /keep their previous definitions until you fix the files/);
      assert.match(await alert.innerText(), /openai\.json invalid model file: typicalSeconds: type: got string/);
      await expectAccessible(page);

      await writeFile(file, valid);
      await alert.waitFor({ state: 'detached' });
    });
  });

  it('offers the models of a provider once its key is stored', async () => {
    await pages.withPage(async (page) => {
      await pages.signIn(page, '/service');
      await page
        .getByRole('row', { name: /^Runway available with a key .* not yet run against the live service / })
        .waitFor();
      await page.getByRole('button', { name: 'Set the key of Runway' }).click();
      await page.getByRole('button', { name: 'Store', exact: true }).click();
      await page.getByText('Enter a key or a URL.').waitFor();
      await expectAccessible(page);
      await page.getByLabel('Key', { exact: true }).fill('key_1234');
      await page.getByRole('button', { name: 'Store', exact: true }).click();
      await page.getByRole('row', { name: /^Runway offered .* stored / }).waitFor();
      assert.ok(!(await page.content()).includes('key_1234'));

      await page.getByRole('button', { name: 'Set the key of Runway' }).click();
      await page.getByRole('button', { name: 'Remove stored settings' }).click();
      await page.getByRole('row', { name: /^Runway available with a key / }).waitFor();
    });
  });

  it('offers the models of a server of one’s own once its URL is stored', async () => {
    const work = async (page: Page): Promise<void> => {
      await pages.signIn(page, '/service');
      await page.getByRole('row', { name: /^Piper available with a URL / }).waitFor();
      await page.getByRole('button', { name: 'Set the URL of Piper' }).click();
      await page.getByRole('button', { name: 'Store', exact: true }).click();
      await page.getByText('Enter the URL.').waitFor();
      await expectAccessible(page);
      await page.getByLabel('URL', { exact: true }).fill('piper:5000');
      await page.getByRole('button', { name: 'Store', exact: true }).click();
      await page.getByText('want an http or https URL').waitFor();
      await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:9/piper');
      await page.getByRole('button', { name: 'Store', exact: true }).click();
      await page.getByRole('row', { name: /^Piper offered .*http:\/\/127\.0\.0\.1:9\/piper/ }).waitFor();

      await page.getByRole('button', { name: 'Set the URL of Piper' }).click();
      await page.getByRole('button', { name: 'Remove stored settings' }).click();
      await page.getByRole('row', { name: /^Piper available with a URL / }).waitFor();
    };
    await pages.withPage(work, { expect: /status of 400/ });
  });

  it('is shown with all repairs, which lead to the tasks', async () => {
    const { database } = pages.darkroom.testDatabase;
    const owner = await pages.darkroom.createAccount();
    const taskId = await newTask(owner);
    await pages.withPage(async (page) => {
      await pages.signIn(page, '/service');
      await page.getByText('No repairs in the last 30 days.').waitFor();
      const add = (kind: 'restarted' | 'callback', times: number) =>
        database.transaction((transaction) =>
          recordRepairs(
            transaction,
            Array.from({ length: times }, () => ({ kind, taskId, found: kind === 'callback' ? null : 'queued' })),
            silentLogger(),
          ),
        );
      await add('callback', 3);
      await add('restarted', 22);

      await page.getByRole('row', { name: 'Restarted (no workflow) 22 22' }).waitFor();
      await page.getByRole('row', { name: 'Redelivered (callback overdue) 3 3' }).waitFor();
      const log = page.getByRole('table', { name: 'Repairs, newest first' });
      // Some of the first half may have been read already.
      await log.getByRole('row').nth(20).waitFor();
      assert.equal(await log.getByRole('row').count(), 21);
      await page.getByRole('button', { name: 'Show older repairs' }).click();
      await log.getByRole('row').nth(25).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Show older repairs' }).count(), 0);
      await expectAccessible(page);

      const choice = page.getByRole('combobox', { name: 'Kind' });
      await choice.selectOption({ label: 'Settled (workflow had ended)' });
      await page.getByText('No repairs of this kind').waitFor();
      await choice.selectOption({ label: 'Redelivered (callback overdue)' });
      await log.waitFor();
      assert.equal(await log.getByRole('row').count(), 4);
      await log.getByRole('link', { name: taskId }).first().click();
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      assert.ok(page.url().endsWith(`/service/tasks/${taskId}`));
    });
  });

  it('fits on a small screen', async () => {
    const { id } = await pages.darkroom.createAccount();
    await pages.withPage(async (page) => {
      await page.setViewportSize({ width: 360, height: 740 });
      await pages.signIn(page);
      for (const [path, title] of [
        ['/accounts', 'Accounts'],
        [`/accounts/${id}/limits`, 'test'],
        [`/accounts/${id}/ledger`, 'test'],
        ['/service', 'Service'],
      ] as const) {
        await goWithin(page, path);
        await page.getByRole('heading', { name: title, level: 1 }).waitFor();
        await settled(page);
        const beyond = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
        assert.ok(Number(beyond) <= 0, `${path}: ${String(beyond)} px beyond the screen`);
      }
    });
  });
});
