/** Waits, when all is healed, until nothing is under way any more; and lists what then remains. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { Statement } from '../../src/database/database.ts';
import type { World } from './world/world.ts';

/** What is under way, according to the program's own records. */
export interface Unrest {
  readonly tasks: number;
  readonly outbox: number;
  readonly callbacks: number;
  readonly textCalls: number;
  readonly promotions: number;
  readonly backgroundCalls: number;
  readonly batches: number;
}

const COUNT_UNREST: Statement = {
  name: 'chaos_unrest',
  text: `SELECT (SELECT count(*)::integer FROM tasks WHERE completed_at IS NULL) AS tasks,
                (SELECT count(*)::integer FROM outbox) AS outbox,
                (SELECT count(*)::integer FROM callbacks WHERE state IN ('waiting', 'pending')) AS callbacks,
                (SELECT count(*)::integer FROM text_calls WHERE settled_at IS NULL) AS "textCalls",
                (SELECT count(*)::integer FROM outputs WHERE pending_since IS NOT NULL) AS promotions,
                (SELECT count(*)::integer FROM background_calls WHERE ended_at IS NULL) AS "backgroundCalls",
                (SELECT count(*)::integer FROM batches WHERE ended_at IS NULL) AS batches`,
};

const LOOK_MS = 1_000;

/** Repairs that of which the database lost the end, as if the time for it had passed. @throws {Error} */
export async function hastenRepairs(world: World): Promise<void> {
  const hasten = async (): Promise<void> => {
    await world.namespace.client.schedule.getHandle(`${world.installationId}-maintain`).trigger();
  };
  await pRetry(hasten, { retries: 20, minTimeout: LOOK_MS, factor: 1 });
}

/**
 * How long all of it takes depends on the machine; that it becomes less does not.
 *
 * @returns what is still under way when it has not become less for this long; undefined: nothing.
 * @throws {Error} the database does not say.
 */
export async function waitForIdle(world: World, withinMs: number): Promise<Unrest | undefined> {
  let least = Infinity;
  let deadline = Date.now() + withinMs;
  for (;;) {
    const [unrest] = await world.testDatabase.database.query<Unrest>(COUNT_UNREST).catch(() => []);
    const count = unrest === undefined ? Infinity : Object.values(unrest).reduce((sum, each) => sum + each, 0);
    if (count === 0) return undefined;
    if (count < least) {
      least = count;
      deadline = Date.now() + withinMs;
    }
    if (Date.now() > deadline) {
      if (unrest === undefined) throw new Error('the database does not say what is under way');
      return unrest;
    }
    await sleep(LOOK_MS);
  }
}

const SELECT_NAMED: Statement = {
  name: 'chaos_named_objects',
  text: `SELECT object_key AS key FROM outputs WHERE bytes_deleted_at IS NULL
         UNION SELECT object_key FROM files WHERE bytes_deleted_at IS NULL
         UNION SELECT input_object_key FROM batches WHERE ended_at IS NULL`,
};

/** Every workflow of ours that ends by itself; those of the schedules always exist. */
const OPEN_WORKFLOWS = `ExecutionStatus = 'Running' AND WorkflowType IN ('mediaTask', 'deliverCallback', 'promoteOutput', 'stopGeneration')`;
const A_DAY_AND_AN_HOUR_MS = 25 * 3_600_000;
const SWEPT_WITHIN_MS = 90_000;

/**
 * Orphans. What a killed attempt left in the store or the scratch directory may stay for a day: so all of it is made
 * a day older, the sweeps are run, and only what exists then is left behind. This does not use a worker's clock:
 * deletion follows the database's clock, and a worker whose own is wrong takes no work.
 */
export async function findLeftovers(world: World, unrest: Unrest | undefined): Promise<readonly string[]> {
  const left: string[] = Object.entries(unrest ?? {}).flatMap(([what, count]) =>
    count === 0 ? [] : [`${count} ${what} still under way at the bound`],
  );
  left.push(...(await openWorkflows(world)));

  await world.ageFiles(A_DAY_AND_AN_HOUR_MS);
  for (const name of ['worker-1', 'worker-2'] as const) {
    // Leftovers of a killed worker in the scratch directory are deleted when one starts.
    await world.part(name).stop();
    await world.part(name).start();
  }
  const { client } = world.namespace;
  const deadline = Date.now() + SWEPT_WITHIN_MS;
  for (;;) {
    for (const id of [`${world.installationId}-maintain`, `${world.installationId}-sweep-unnamed`]) {
      await client.schedule
        .getHandle(id)
        .trigger()
        .catch(() => undefined);
    }
    await sleep(LOOK_MS * 5);
    const unnamed = await unnamedObjects(world);
    if (unnamed.length === 0) break;
    if (Date.now() < deadline) continue;
    left.push(...unnamed.map((key) => `the object ${key}, which nothing names`));
    break;
  }
  left.push(...(await readdir(world.files.scratch)).map((name) => `${name} in the scratch directory`));
  return left;
}

async function unnamedObjects(world: World): Promise<readonly string[]> {
  const rows = await world.testDatabase.database.query<{ key: string }>(SELECT_NAMED);
  const named = new Set(rows.map(({ key }) => key));
  return (await world.storedObjects()).filter((key) => !named.has(key));
}

/** Visibility is eventual: listed workflows are checked once more. */
async function openWorkflows({ namespace }: World): Promise<readonly string[]> {
  const found: string[] = [];
  for (let look = 0; look < 20; look++) {
    found.length = 0;
    for await (const { workflowId, type } of namespace.client.workflow.list({ query: OPEN_WORKFLOWS })) {
      found.push(`the workflow ${workflowId} (${type}) is open`);
    }
    if (found.length === 0) break;
    await sleep(LOOK_MS);
  }
  return found;
}
