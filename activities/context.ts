/**
 * The context of the activities: made once by the composition root (src/context.ts) and shared by all of them.
 */
import type { WebhookKeys } from '../src/accounts/webhook-key.ts';
import type { PinnedDefinitions } from '../src/catalogue/pinned-definitions.ts';
import type { Config } from '../src/config/config.ts';
import type { DatabaseClock } from '../src/database/database-clock.ts';
import type { Database } from '../src/database/database.ts';
import type { RunRecord } from '../src/domain/run-record.ts';
import type { WorkflowCondition } from '../src/domain/task-status.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import type { Egress } from '../src/egress/guarded-client.ts';
import type { ObjectStore } from '../src/objects/stores/object-store.ts';
import type { UrlSigner } from '../src/objects/urls/signed-url.ts';
import type { AccountDatabase } from '../src/limits/account-database.ts';
import type { TenantShares } from '../src/limits/tenant-shares.ts';
import type { MediaInspector } from '@darkroom/media/inspect';
import type { Provider } from '../src/providers/provider.ts';
import type { Logger } from '../src/telemetry/log.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';
import type { Upstreams } from '../src/upstreams/upstreams.ts';
import type { SlotShares } from '../src/generation/slot-shares.ts';
import type { StopSlots } from '../src/generation/stop-slots.ts';

export interface ActivityContext {
  readonly config: Config;
  readonly logger: Logger;
  /** The metrics of this process. */
  readonly metrics: Metrics;
  readonly database: Database;
  /** For statements that lock the row of one account (src/limits/account-database.ts). */
  readonly accountDatabase: AccountDatabase;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly definitions: PinnedDefinitions;
  /** Every upstream protocol by its name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** What is known about upstreams apart from their protocols. */
  readonly upstreams: Upstreams;
  readonly egress: Egress;
  /** Which tasks of an account are fetching files of their inputs in this process. */
  readonly inputFetches: TenantShares;
  /** Which tasks of an account are being archived in this process. */
  readonly archivingSlots: SlotShares;
  /** The same for tasks of models that generate videos. */
  readonly filmSlots: SlotShares;
  /** Which tasks of an account have frames of their videos decoded in this process. */
  readonly frameDecoders: TenantShares;
  /** Which providers are being asked to stop in this process. */
  readonly stopSlots: StopSlots;
  /** Detects the types of files, in child processes. */
  readonly inspector: MediaInspector;
  readonly webhookKeys: WebhookKeys;
  /** Code that charges, expires or deletes reads the time here, from the database. */
  readonly clock: DatabaseClock;
  /** Milliseconds since 1970 by the database's clock, as last measured: for signatures and for display. */
  now(): number;
  /** Fires, with a failure as its reason, when the worker hands back work that another worker can continue. */
  readonly stopping: AbortSignal;
  /** Fires later, when waiting for upstreams is no longer allowed either. */
  readonly ending: AbortSignal;
  /** Queries Temporal for the condition of a task's workflow. */
  describeTask(taskId: TaskId): Promise<WorkflowCondition>;
  /** Queries Temporal for the results of one run of a task's workflow; undefined: Temporal no longer has the run. */
  readRun(taskId: TaskId, runId: string): Promise<RunRecord | undefined>;
  /** Sends one heartbeat of an attempt and waits until Temporal has recorded it; false: the attempt is over. */
  recordHeartbeat(taskToken: Uint8Array, details: object): Promise<boolean>;
}
