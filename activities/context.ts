/**
 * The context of the activities: made once by the composition root (src/context.ts) and shared by all of them.
 */
import type { MediaInspector } from '@darkroom/media/inspect';
import type { WebhookKeys } from '../src/accounts/webhook-key.ts';
import type { PinnedDefinitions } from '../src/catalogue/pinned-definitions.ts';
import type { Config } from '../src/config/config.ts';
import type { DatabaseClock } from '../src/database/database-clock.ts';
import type { WorkflowState } from '../src/domain/task-status.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import type { Egress } from '../src/egress/guarded-client.ts';
import type { GenerationContext } from '../src/generation/context.ts';
import type { AccountDatabase } from '../src/limits/row-databases.ts';
import type { ObjectStore } from '../src/objects/stores/object-store.ts';
import type { Settler } from '../src/tasks/lifecycle/settle-queue.ts';
import type { CancelFeed } from '../src/tasks/record/cancel-feed.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';

export interface ActivityContext extends GenerationContext {
  readonly config: Config;
  /** The metrics of this process. */
  readonly metrics: Metrics;
  /** For statements that lock the row of one account (src/limits/row-databases.ts). */
  readonly accountDatabase: AccountDatabase;
  readonly settler: Settler;
  readonly store: ObjectStore;
  readonly definitions: PinnedDefinitions;
  readonly inspector: MediaInspector;
  readonly egress: Egress;
  readonly webhookKeys: WebhookKeys;
  /** Code that charges, expires or deletes reads the time here, from the database. */
  readonly clock: DatabaseClock;
  /** Milliseconds since 1970 by the database's clock, as last measured: for signatures and for display. */
  now(): number;
  /** The cancels of the tasks that this process works on. */
  readonly cancels: CancelFeed;
  /** Queries Temporal for the condition of a task's workflow. */
  describeTask(taskId: TaskId): Promise<WorkflowState>;
  /** Sends one heartbeat of an attempt and waits until Temporal has recorded it; false: the attempt has ended. */
  recordHeartbeat(taskToken: Uint8Array, details: object | undefined): Promise<boolean>;
}
