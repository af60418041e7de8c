/** What one completed workflow leaves in Temporal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { median } from '../measures.ts';

/** They are all alike. */
const SAMPLES = 20;
/** Visibility lags behind. */
const LISTED_WITHIN_MS = 15_000;

export interface HistoryCost {
  readonly events: number;
  readonly bytes: number;
  /** Each is a write of the workflow's state. */
  readonly stateTransitions: number;
}

/** The medians of some workflows of this type that completed last. @throws {Error} none is listed. */
export async function historyCostOf(address: string, workflowType: string): Promise<HistoryCost> {
  const connection = await NativeConnection.connect({ address });
  try {
    const client = new Client({ connection });
    const ids = await listCompleted(client, workflowType);
    const all = await Promise.all(ids.map((id) => client.workflow.getHandle(id).describe()));
    return {
      events: median(all.map(({ historyLength }) => historyLength)),
      bytes: median(all.map(({ raw }) => Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0))),
      stateTransitions: median(all.map(({ raw }) => Number(raw.workflowExecutionInfo?.stateTransitionCount ?? 0))),
    };
  } finally {
    await connection.close();
  }
}

async function listCompleted(client: Client, workflowType: string): Promise<readonly string[]> {
  const query = `WorkflowType = '${workflowType}' AND ExecutionStatus = 'Completed'`;
  const deadline = Date.now() + LISTED_WITHIN_MS;
  while (Date.now() < deadline) {
    const ids: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query, pageSize: SAMPLES })) {
      ids.push(workflowId);
      if (ids.length === SAMPLES) break;
    }
    if (ids.length > 0) return ids;
    await sleep(200);
  }
  throw new Error(`Temporal lists no completed workflow of type ${workflowType}`);
}
