/**
 * Random tasks over upstreams that bill in different ways: what the service recorded as its cost, what it captured and
 * the margin agree to the micro with the upstreams' own books. `MARGIN_TASKS` and `MARGIN_SEED` make it a longer run,
 * or another one.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { createRandom } from '@darkroom/seeded-random/random';
import { readMargins } from '../../src/billing/task-costs.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { parseUsd } from '../../src/domain/money.ts';
import { BILLERS, modelOfBiller, startBillingServer } from '../support/billing-servers.ts';
import type { Bill, BillingServer } from '../support/billing-servers.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { drawImage } from '../support/test-provider/image.ts';

const TASKS = Number(process.env['MARGIN_TASKS'] ?? 60);
const SEED = Number(process.env['MARGIN_SEED'] ?? 1);
const AT_ONCE = 12;

interface CostRow {
  readonly upstream: string;
  readonly costMicroUsd: bigint | null;
  readonly source: string | null;
  readonly capturedMicroUsd: bigint;
}

describe('costs and margins', () => {
  const servers: BillingServer[] = [];
  const slow = createSlowServer();
  let modelsDir: string;
  let darkroom: Darkroom;

  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    for (const biller of BILLERS) {
      const server = await startBillingServer(biller, SEED);
      servers.push(server);
      await writeFile(path.join(modelsDir, `${biller.name}.json`), JSON.stringify(modelOfBiller(biller, server.url)));
    }
    const slowUrl = await slow.start();
    const [reporting] = BILLERS;
    const slowModel = modelOfBiller({ ...reporting, name: 'slow' }, slowUrl);
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slowModel));
    darkroom = await startDarkroom({
      environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key', EGRESS_ALLOW: slowUrl },
    });
  });
  after(async () => {
    await darkroom?.stop();
    slow.stop();
    for (const server of servers) server.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const query = <Row>(name: string, text: string, ...values: unknown[]): Promise<readonly Row[]> =>
    darkroom.testDatabase.database.query<Row>({ name: `test_${name}`, text }, values);
  const costOf = async (taskId: string): Promise<CostRow | undefined> => {
    const [row] = await query<CostRow>(
      'cost_row',
      `SELECT upstream, cost_micro_usd AS "costMicroUsd", source, captured_micro_usd AS "capturedMicroUsd"
         FROM task_costs WHERE task_id = $1`,
      taskId,
    );
    return row;
  };
  const billOf = (prompt: string): Bill | undefined =>
    servers.flatMap(({ books }) => books).find((bill) => bill.prompt === prompt);

  /** Runs one random task to its end. @returns what its upstream's books say. */
  async function runTask(account: TestAccount, index: number): Promise<Bill> {
    const random = createRandom(SEED).fork(`task ${index}`);
    const biller = random.pick(BILLERS);
    const prompt = `${biller.name} ${index}`;
    const created = await account.client.create({
      model: `test/${biller.name}`,
      input: { prompt, ...biller.draw(random) },
    });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const { taskId } = created.body.data;
    if (biller.name === 'cancelled') {
      await waitFor(`${prompt} is at its upstream`, async () => {
        const [row] = await query<{ state: string }>(
          'generation',
          `SELECT state FROM generations WHERE task_id = $1 AND state = 'submitted'`,
          taskId,
        );
        return row !== undefined;
      });
      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    }
    const task = await account.client.waitForTerminal(taskId);
    const bill = billOf(prompt) ?? assert.fail(`${prompt} is in no books: ${JSON.stringify(task)}`);
    const about = `${prompt}: ${JSON.stringify(task)}`;
    assert.deepEqual(
      { captured: parseUsd(task.billing.captured), ...(await costOf(taskId)), source: undefined },
      {
        captured: bill.priceMicroUsd,
        upstream: bill.upstream,
        costMicroUsd: bill.billedMicroUsd ?? null,
        capturedMicroUsd: bill.priceMicroUsd,
        source: undefined,
      },
      about,
    );
    return bill;
  }

  it(`of ${TASKS} random tasks agree with the books of their upstreams`, async (t) => {
    const account = await darkroom.createAccount({ usd: 10_000_000_000n, runningCap: 2 * AT_ONCE });
    const bills: Bill[] = [];
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < TASKS) bills.push(await runTask(account, next++));
      }),
    );

    const day = new Date().toISOString().slice(0, 10);
    const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const rows = await readMargins(darkroom.testDatabase.database, { from, to: day, groupBy: ['upstream', 'account'] });
    const own = rows.filter((row) => row.account === account.id);
    for (const row of own) {
      const theirs = bills.filter(({ upstream }) => upstream === row.upstream);
      const known = theirs.filter(({ billedMicroUsd }) => billedMicroUsd !== undefined);
      assert.deepEqual(
        [row.tasks, row.capturedMicroUsd, row.costMicroUsd, row.unknownTasks, row.tasksBelowCost],
        [
          theirs.length,
          sum(theirs.map(({ priceMicroUsd }) => priceMicroUsd)),
          sum(known.map(({ billedMicroUsd = 0n }) => billedMicroUsd)),
          theirs.length - known.length,
          known.filter(({ billedMicroUsd = 0n, priceMicroUsd }) => priceMicroUsd < billedMicroUsd).length,
        ],
        row.upstream,
      );
    }
    assert.equal(sum(own.map(({ tasks }) => BigInt(tasks))), BigInt(TASKS));
    assert.equal(servers.flatMap(({ books }) => books).length, TASKS, 'an upstream was called twice');
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    t.diagnostic(JSON.stringify({ seed: SEED, tasks: own.map(({ upstream, tasks }) => [upstream, tasks]) }));
  });

  it('are not lost by a worker that is killed between the files and the settlement', async () => {
    const account = await darkroom.createAccount();
    const created = await account.client.create({ model: 'test/slow', input: { prompt: 'a slow file' } });
    const { taskId } = created.body.data;
    await waitFor('the file is fetched', () => slow.isFetched());
    const [worker] = darkroom.workers;
    await worker?.kill();
    // From now on the upstream knows nothing of the job: what it said before is all there is.
    slow.forget();
    await worker?.start();

    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.deepEqual(await costOf(taskId), {
      upstream: 'slow',
      costMicroUsd: 12_345n,
      source: 'reported',
      capturedMicroUsd: 30_000n,
    });
  });
});

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** An upstream whose file does not arrive until it has forgotten the job. */
function createSlowServer() {
  let isFetched = false;
  let isForgotten = false;
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void => {
      response.statusCode = status;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    };
    if (request.url === '/file.png') {
      isFetched = true;
      if (isForgotten) void drawImage('a slow file').then((bytes) => response.end(bytes));
    } else if (request.method === 'POST') answer(200, { id: 'job' });
    else if (isForgotten) answer(404, {});
    else answer(200, { state: 'done', images: `http://${request.headers.host}/file.png`, billing: { usd: 0.012345 } });
  });
  return {
    start: () =>
      new Promise<string>((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
      }),
    isFetched: () => isFetched,
    forget() {
      isForgotten = true;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
