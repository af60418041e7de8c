/** DBOS: a workflow with one step, enqueued by a client and executed by a worker, through one PostgreSQL. */
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';

const NAME = 'peer';
const QUEUE = 'jobs';
const logger = { info() {}, debug() {}, warn: console.warn, error: console.error };

/** @param {{ databaseUrl: string, pollMs?: number }} options `pollMs` absent: the defaults, a second each. */
export async function work({ databaseUrl, pollMs }, execute) {
  DBOS.setConfig({ name: NAME, systemDatabaseUrl: databaseUrl, applicationVersion: '1', logger });
  DBOS.registerWorkflow(
    async (id) => {
      await DBOS.runStep(async () => execute(id), { name: 'execute' });
    },
    { name: 'job' },
  );
  await DBOS.launch();
  await DBOS.registerQueue(QUEUE, pollMs === undefined ? {} : { minPollingIntervalMs: pollMs });
  return () => DBOS.shutdown();
}

export async function connect({ databaseUrl, pollMs }) {
  const client = await DBOSClient.create({ systemDatabaseUrl: databaseUrl, applicationName: NAME, logger });
  return {
    submit: (id) => client.enqueue({ queueName: QUEUE, workflowName: 'job', workflowID: id }, id),
    result: (handle) => handle.getResult(pollMs === undefined ? undefined : { pollingIntervalMs: pollMs }),
    close: () => client.destroy(),
  };
}
