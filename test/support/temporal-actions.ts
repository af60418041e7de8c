/**
 * What Temporal Cloud would bill for a piece of work: the actions that the server itself counts, in its metric
 * `action`, by namespace and type. Unlike a history, it has the heartbeats, the retries and the calls of clients.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { answerOf } from './busy-server.ts';

/** How many actions of each type there were, by the names that the server gives them. */
export type Actions = ReadonlyMap<string, number>;

const SAMPLE = /^action\{([^}]*)\} (\S+)$/;
const LABEL = /(\w+)="([^"]*)"/g;

/** The server reports what it has counted about once a second. */
const REPORTED_MS = 1_500;

/**
 * The actions of a namespace since its server was started, as soon as they no longer change: nothing must be at work.
 *
 * @param metricsUrl of that server.
 */
export async function readActions(metricsUrl: string, namespace: string): Promise<Actions> {
  for (let earlier = await readReported(metricsUrl, namespace); ;) {
    await sleep(REPORTED_MS);
    const reported = await readReported(metricsUrl, namespace);
    if (actionsBetween(earlier, reported).size === 0) return reported;
    earlier = reported;
  }
}

async function readReported(metricsUrl: string, namespace: string): Promise<Actions> {
  const response = await fetch(metricsUrl);
  if (!response.ok) throw new Error(`${metricsUrl} answered with ${response.status}`);
  const counted = new Map<string, number>();
  for (const line of (await response.text()).split('\n')) {
    const [, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
    const { action_type: type, namespace: of } = Object.fromEntries(
      [...labels.matchAll(LABEL)].map(([, name = '', text = '']) => [name, text]),
    );
    // The server replaces what a label may not contain.
    if (type === undefined || of !== namespace.replaceAll('-', '_')) continue;
    counted.set(type, (counted.get(type) ?? 0) + Number(value));
  }
  return counted;
}

/** What was added between two readings. */
export function actionsBetween(before: Actions, after: Actions): Actions {
  const added = [...after].map(([type, count]) => [type, count - (before.get(type) ?? 0)] as const);
  return new Map(added.filter(([, count]) => count > 0));
}

/** The size of the histories of a piece of work, as the server counts it. */
export interface HistorySize {
  readonly events: number;
  readonly bytes: number;
}

/**
 * Waits until workflows have ended.
 *
 * @returns the size of their histories together, and the upserts of `TemporalChangeVersion` in them: the metric counts
 *   these, and Temporal Cloud does not bill them.
 */
export async function readHistories(
  client: Client,
  workflowIds: readonly string[],
): Promise<HistorySize & { readonly unbilledUpserts: number }> {
  const sum = { events: 0, bytes: 0, unbilledUpserts: 0 };
  for (const workflowId of workflowIds) {
    const handle = client.workflow.getHandle(workflowId);
    await handle.result().catch(() => undefined);
    const { historyLength, historySize = 0 } = await answerOf(() => handle.describe());
    sum.events += historyLength;
    sum.bytes += historySize;
    const { events } = await handle.fetchHistory();
    for (const { upsertWorkflowSearchAttributesEventAttributes: upsert } of events ?? []) {
      if (upsert?.searchAttributes?.indexedFields?.['TemporalChangeVersion'] != null) sum.unbilledUpserts += 1;
    }
  }
  return sum;
}
