/**
 * The topology of docker-compose.yml without containers: a real Temporal server on PostgreSQL, prepared by the
 * scripts that compose mounts, and each role as a process of its own that is configured by environment only. Skipped,
 * with the reason, if the server can neither be found nor built, or psql is missing.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { composeEnvironment, composeImage } from '../deploy/compose-file.ts';
import { DYNAMIC_CONFIG, startTopology } from '../deploy/native-topology.ts';
import type { Topology } from '../deploy/native-topology.ts';
import { obtainTemporalPrograms, whyNoTemporalPrograms } from '../deploy/temporal-programs.ts';
import { ApiClient } from '../support/api-client.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const [, VERSION] = composeImage('temporal');

const hasPsql = spawnSync('psql', ['--version']).status === 0;
const reason = whyNoTemporalPrograms(VERSION) || (hasPsql ? false : 'psql is not on the PATH');

describe('the topology of docker-compose.yml', { skip: reason }, () => {
  let programs: string;
  let topology: Topology;
  let connection: Connection;
  before(async () => {
    programs = await obtainTemporalPrograms(VERSION);
    topology = await startTopology(programs);
    connection = await Connection.connect({ address: topology.temporalAddress });
  });
  after(async () => {
    await connection?.close();
    await topology?.stop();
  });

  it('has a dynamic configuration in which the server knows every setting', async () => {
    const server = path.join(programs, 'temporal-server');
    const { stdout } = await promisify(execFile)(server, ['validate-dynamic-config', DYNAMIC_CONFIG]);

    assert.equal(stdout.trim(), DYNAMIC_CONFIG);
  });

  it('has the number of history shards that was requested, which can never change', async () => {
    const { historyShardCount } = await connection.workflowService.getClusterInfo({});
    const wanted = composeEnvironment(['services', 'temporal', 'environment'], { TEMPORAL_DB_PASSWORD: 'any' });

    assert.equal(String(historyShardCount), wanted['NUM_HISTORY_SHARDS']);
  });

  it('makes an image, and lists its workflow by our search attributes', async () => {
    const account = JSON.parse(
      await topology.runProgram('admin', 'accounts', 'create', '--name', 'first', '--usd', '1', '--json'),
    ) as { account: string };
    const { apiKey } = JSON.parse(await topology.runProgram('admin', 'keys', 'create', '--json')) as { apiKey: string };
    const client = new ApiClient([topology.apiUrl], apiKey);

    const created = await client.create({ model: 'darkroom/scene', input: { prompt: 'a harbour at dawn' } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const task = await client.waitForTerminal(created.body.data.taskId);

    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output);
    const response = await fetch(output.url);
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.equal(bytes.subarray(1, 4).toString('latin1'), 'PNG');
    assert.equal(bytes.length, output.sizeBytes);
    assert.deepEqual(await listWorkflows(`TaskStatus="success" AND AccountId="${account.account}"`), [task.taskId]);
  });

  it('is prepared again without harm, as after an upgrade', async () => {
    await topology.setUpSchema();
    await topology.runProgram('migrate');

    const verified = JSON.parse(await topology.runProgram('admin', 'ledger', 'verify', '--json')) as unknown;
    assert.deepEqual(verified, { holds: true, violations: [] });
  });

  /** The workflows that a query lists, once there is one: visibility is eventual. */
  async function listWorkflows(query: string): Promise<readonly string[]> {
    const client = new Client({ connection, namespace: topology.namespace });
    const found: string[] = [];
    await waitFor(`${query} lists a workflow`, async () => {
      for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId);
      return found.length > 0;
    });
    return found;
  }
});
