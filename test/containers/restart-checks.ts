/**
 * Containers that are killed and started again, one after the other, and the whole stack that is removed and started
 * again on its volumes, while tasks are in progress: nothing is lost, and nothing is charged twice.
 */
import assert from 'node:assert/strict';
import type { Check, CheckContext } from './checks.ts';
import type { ContainerTask } from './client.ts';
import { seconds } from './run.ts';
import { startWork, verifyWork, waitUntilInProgress } from './work.ts';

const SERVICES = ['worker', 'api', 'postgres', 'temporal', 'proxy', 'temporal-ui'] as const;

export const RESTART_CHECKS: readonly Check[] = [
  ...SERVICES.map((service): Check => ({
    name: `${service} is killed and started again while tasks are in progress: none is lost or charged twice`,
    check: (context) => killAndStart(context, service),
  })),
  {
    name: '`down` and `up` keep tasks, outputs, keys and the histories of Temporal, and finish what was in progress',
    async check(context) {
      const { client, receiver, stack } = context;
      const before = await stateOf(context);
      const work = await startWork(client, 'down');
      const inProgress = await waitUntilInProgress(client, work);

      await receiver.disconnect();
      const begun = Date.now();
      await stack.compose('down');
      const downMs = Date.now() - begun;
      await Promise.all([stack.compose('up', '--detach', '--no-build'), receiver.connect()]);
      await client.waitForReady();
      const readyMs = Date.now() - begun - downMs;

      await verifyWork(context, work);
      const after = await stateOf(context);
      for (const [name, value] of before) assert.equal(after.get(name), value, name);
      return `${inProgress} in progress, down in ${seconds(downMs)}, ready ${seconds(readyMs)} after that`;
    },
  },
];

async function killAndStart(context: CheckContext, service: string): Promise<string> {
  const { client, engine, stack } = context;
  const work = await startWork(client, service);
  const inProgress = await waitUntilInProgress(client, work);

  const container = await stack.containerOf(service);
  await engine.docker(['kill', '--signal', 'KILL', container]);
  const killedAt = Date.now();
  // Accepted as soon as that is possible again.
  const late = startWork(client, `${service}-late`);
  await engine.docker(['start', container]);
  await client.waitForReady();
  const answeredMs = Date.now() - killedAt;
  await verifyWork(context, [...work, ...(await late)]);
  return `${inProgress} in progress, ready ${seconds(answeredMs)} and all done ${seconds(Date.now() - killedAt)} after it`;
}

/** What must be the same before and after, by its name: outputs by their digests, histories by their events. */
async function stateOf({ client, login, stack }: CheckContext): Promise<ReadonlyMap<string, string>> {
  const { data } = (await client.ask('GET', '/v1/tasks?size=100&status=success')) as {
    data: { tasks: readonly ContainerTask[] };
  };
  const state = new Map<string, string>();
  for (const { taskId } of data.tasks) {
    const task = await client.readPatiently(taskId);
    const outputs = (task.output ?? []).map(({ sha256 }) => sha256).join(' ');
    await client.download(task);
    const base = `https://localhost:${stack.temporalUiPort}/api/v1/namespaces/darkroom/workflows`;
    const headers = { authorization: login.authorization };
    const answer = await client.send('GET', `${base}/${taskId}/history`, { headers });
    assert.equal(answer.status, 200, answer.text.slice(0, 500));
    const { history } = JSON.parse(answer.text) as { history: { events: readonly unknown[] } };
    state.set(taskId, `${task.status}, outputs ${outputs}, ${history.events.length} events`);
  }
  assert.ok(state.size > 0, 'there is nothing to compare');
  return state;
}
