/**
 * What the activities are given: made once by the composition root (src/context.ts), the same for all of them.
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
import type { MediaInspector } from '../src/media/inspect.ts';
import type { Provider } from '../src/providers/provider.ts';
import type { Logger } from '../src/telemetry/log.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';
import type { Upstreams } from '../src/upstreams/upstreams.ts';
import type { SlotShares } from './slot-shares.ts';
import type { StopSlots } from './stop-slots.ts';

export interface ActivityContext {
  readonly config: Config;
  readonly logger: Logger;
  /** Of this process. */
  readonly metrics: Metrics;
  readonly database: Database;
  /** For what locks the row of one account (src/limits/account-database.ts). */
  readonly accountDatabase: AccountDatabase;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly definitions: PinnedDefinitions;
  /** Every upstream protocol by its name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** What is known of upstreams beside their protocols. */
  readonly upstreams: Upstreams;
  readonly egress: Egress;
  /** Which tasks of an account are fetching files of their inputs in this process. */
  readonly inputFetches: TenantShares;
  /** Which tasks of an account are being archived in this process. */
  readonly archivingSlots: SlotShares;
  /** The same of tasks whose model makes films. */
  readonly filmSlots: SlotShares;
  /** Which tasks of an account have frames of their videos decoded in this process. */
  readonly frameDecoders: TenantShares;
  /** Which providers are being asked to stop in this process. */
  readonly stopSlots: StopSlots;
  /** Finds out what files are, in children. */
  readonly inspector: MediaInspector;
  readonly webhookKeys: WebhookKeys;
  /** What charges, expires or deletes reads the time here, from the database. */
  readonly clock: DatabaseClock;
  /** Milliseconds since 1970 as the database has it, as last measured: for signatures and what is shown. */
  now(): number;
  /** Fires, with a failure as its reason, when the worker hands back what another may go on with. */
  readonly stopping: AbortSignal;
  /** Fires later, when upstreams may be waited for no longer either. */
  readonly ending: AbortSignal;
  /** Asks Temporal what became of a task's workflow. */
  describeTask(taskId: TaskId): Promise<WorkflowCondition>;
  /** Asks Temporal what one run of a task's workflow had brought about; undefined: it does not know any more. */
  readRun(taskId: TaskId, runId: string): Promise<RunRecord | undefined>;
  /** Sends one heartbeat of an attempt and waits until Temporal has it; false: the attempt is over. */
  recordHeartbeat(taskToken: Uint8Array, details: object): Promise<boolean>;
}
