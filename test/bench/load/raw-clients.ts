/**
 * The clients of raw Temporal: what a program does that calls Temporal itself, over the cheaper of its two connections.
 *
 * Usage: raw-clients.ts <Temporal address>
 */
import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { serveOrders } from './window.ts';

/** How many of the finished workflows are described in turn. */
const READ_WORKFLOWS = 100;

const [address = ''] = process.argv.slice(2);
const connection = await NativeConnection.connect({ address });
const client = new Client({ connection });
const finished: string[] = [];
let reads = 0;

function start(): Promise<WorkflowHandle> {
  return client.workflow.start('oneActivity', {
    workflowId: `raw-${randomUUID()}`,
    taskQueue: 'bench-raw',
    args: ['teal'],
  });
}

async function finish(): Promise<void> {
  const handle = await start();
  await handle.result();
  finished.unshift(handle.workflowId);
  finished.splice(READ_WORKFLOWS);
}

serveOrders({
  async start() {
    // Every window starts with this, and what finished before is gone by then.
    finished.length = 0;
    await start();
  },
  async read() {
    const workflowId = finished[reads++ % finished.length];
    if (workflowId === undefined) throw new Error('no workflow has finished yet');
    await client.workflow.getHandle(workflowId).describe();
  },
  finish,
  // Waiting for a result is all that a client of Temporal does.
  wait: finish,
});
