/** What operators can read about the repair: the pending ones, and all that it has done, whichever process did it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { repairTask } from '../../src/tasks/repair/repair.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { newTask } from './route-requests.ts';
import { serveAdmin } from './serve-admin.ts';
import type { ServedAdmin } from './serve-admin.ts';
import type { ServedAccount } from './serve.ts';
import { programConfig } from '../support/pooled-run.ts';

let admin: ServedAdmin;
before(async () => {
  admin = await serveAdmin();
});
after(() => admin.close());

interface Summary {
  readonly overdue: readonly { taskId: string; accountId: string; status: string; at: number }[];
  readonly restarted: readonly { taskId: string; at: number }[];
  readonly done: readonly { kind: string; day: number; month: number }[];
}

async function readSummary(): Promise<Summary> {
  return (await admin.ask<Summary>('GET', '/admin/repairs/summary')).body.data;
}

function doneOf({ done }: Summary, kind: string) {
  return done.find((count) => count.kind === kind) ?? assert.fail(`${kind} is not reported`);
}

/** @param database of the process that repairs; default: that of the process that serves requests. */
function repair(taskId: string, isPastDeadline: boolean, database = admin.served.room.database) {
  const { http } = admin.served;
  return repairTask(
    { id: taskId as TaskId, status: 'queued', isPastDeadline, hasStart: false },
    {
      database,
      describe: async () => 'missing',
      retentionDays: 7,
      metrics: http.metrics.tasks,
      logger: http.logger,
    },
  );
}

/** A task without a workflow. */
async function lostTask(account: ServedAccount): Promise<string> {
  const taskId = await newTask(account);
  await admin.served.room.rows("DELETE FROM outbox WHERE subject_id = $1 AND kind = 'start_task'", taskId);
  return taskId;
}

describe('the repair', () => {
  it('is reported with what is overdue, and what was done about it', async () => {
    const account = await admin.served.newAccount();
    const taskId = await newTask(account);
    assert.ok(!(await readSummary()).overdue.some((task) => task.taskId === taskId));
    await admin.served.room.rows(
      "UPDATE tasks SET queue_deadline_at = now() - interval '90 seconds' WHERE id = $1",
      taskId,
    );

    const before = await readSummary();
    const overdueTask = before.overdue.find((task) => task.taskId === taskId);
    assert.deepEqual([overdueTask?.accountId, overdueTask?.status], [account.id, 'queued']);
    assert.ok(Date.now() / 1000 - (overdueTask?.at ?? 0) >= 89);
    assert.equal(await repair(taskId, true), 'settled');

    const later = await readSummary();
    assert.ok(!later.overdue.some((task) => task.taskId === taskId));
    const { day, month } = doneOf(before, 'timed_out');
    assert.deepEqual(doneOf(later, 'timed_out'), { kind: 'timed_out', day: day + 1, month: month + 1 });
  });

  it('names the tasks that were started again, while they are running', async () => {
    const taskId = await lostTask(await admin.served.newAccount());
    assert.equal(await repair(taskId, false), 'restarted');

    const summary = await readSummary();
    assert.ok(summary.restarted.some((task) => task.taskId === taskId && task.at > 0));
    assert.ok(doneOf(summary, 'restarted').day >= 1);
  });

  it('counts the last 24 hours and the last 30 days apart', async () => {
    const taskId = await newTask(await admin.served.newAccount());
    const before = doneOf(await readSummary(), 'callback');
    for (const days of [0, 2, 29, 31]) {
      await admin.served.room.rows(
        "INSERT INTO repairs (at, kind, task_id) VALUES (now() - make_interval(days => $1), 'callback', $2)",
        days,
        taskId,
      );
    }

    const { day, month } = doneOf(await readSummary(), 'callback');
    assert.deepEqual([day - before.day, month - before.month], [1, 3]);
  });
});

interface RepairPage {
  readonly repairs: readonly {
    readonly id: string;
    readonly at: number;
    readonly kind: string;
    readonly taskId: string;
    readonly found?: string;
    readonly accountId?: string;
    readonly model?: string;
  }[];
  readonly nextCursor?: string;
}

async function readRepairs(query: string): Promise<RepairPage> {
  const { status, body } = await admin.ask<RepairPage>('GET', `/admin/repairs${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.data;
}

describe('repairs', () => {
  it('are one list, whichever process made them', async () => {
    const account = await admin.served.newAccount();
    const tasks = [await lostTask(account), await lostTask(account), await lostTask(account)];
    const another = openDatabase({ ...programConfig(admin.served.room.url), poolSize: 2 }, silentLogger());
    try {
      for (const [index, taskId] of tasks.entries()) {
        await repair(taskId, false, index % 2 === 0 ? another : admin.served.room.database);
      }
    } finally {
      await another.close();
    }

    const { repairs } = await readRepairs('?size=3');

    assert.deepEqual(
      repairs.map(({ taskId, kind, found, accountId, model }) => [taskId, kind, found, accountId, model]),
      tasks.toReversed().map((taskId) => [taskId, 'restarted', 'queued', account.id, 'acme/images']),
    );
    assert.ok(repairs.every(({ at }) => Math.abs(Date.now() / 1000 - at) < 600));
  });

  it('are read a page at a time, by kind, although others are made meanwhile', async () => {
    const account = await admin.served.newAccount();
    const [first, ...others] = [await lostTask(account), await newTask(account), await lostTask(account)];
    await repair(first ?? '', false);
    await repair(others[0] ?? '', true);
    await repair(others[1] ?? '', false);

    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await readRepairs(`?size=1&kind=restarted${cursor}`);
      assert.ok(page.repairs.length === 1 && page.repairs[0]?.kind === 'restarted');
      seen.push(page.repairs[0].taskId);
      if (page.nextCursor === undefined) break;
      cursor = `&cursor=${page.nextCursor}`;
      if (seen.length === 1) await repair(await lostTask(account), false);
    }
    assert.deepEqual(seen.slice(0, 2), [others[1], first]);
    assert.equal(new Set(seen).size, seen.length);

    const both = await readRepairs('?kind=restarted,timed_out&size=3');
    assert.equal(new Set(both.repairs.map(({ kind }) => kind)).size, 2);
    assert.deepEqual((await readRepairs('?kind=settled')).repairs, []);
  });

  it('of a task that no longer exists are marked as such', async () => {
    const taskId = 'tk-svc-00000000000000000000000000';
    await admin.served.room.rows("INSERT INTO repairs (kind, task_id) VALUES ('callback', $1)", taskId);

    const [newest] = (await readRepairs('?size=1')).repairs;
    assert.deepEqual(Object.keys(newest ?? {}).toSorted(), ['at', 'id', 'kind', 'taskId']);
    assert.equal(newest?.taskId, taskId);
  });
});
