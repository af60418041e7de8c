/** What the code here needs of its process: made once by the composition root (src/context.ts). */
import type { MediaInspector } from '@darkroom/media/inspect';
import type { PinnedDefinitions } from '../catalogue/pinned-definitions.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Egress } from '../egress/guarded-client.ts';
import type { TenantShares } from '../limits/tenant-shares.ts';
import type { ObjectStore } from '../objects/stores/object-store.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { Provider } from '../providers/provider.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Upstreams } from '../upstreams/upstreams.ts';
import type { SlotShares, StopSlots } from './slots.ts';

export interface GenerationContext {
  readonly config: { readonly worker: Pick<Config['worker'], 'scratchDir' | 'upstreamGraceMs'> };
  /** Of this process, under which Temporal knows its workers; absent: waits are not recorded. */
  readonly identity?: string;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'outgoing'>;
  readonly database: Database;
  readonly store: Pick<ObjectStore, 'put' | 'read' | 'head' | 'check'>;
  readonly urlSigner: UrlSigner;
  readonly definitions: Pick<PinnedDefinitions, 'read'>;
  /** Every upstream protocol by its name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** What is known about upstreams apart from their protocols. */
  readonly upstreams: Upstreams;
  readonly egress: Pick<Egress, 'download' | 'findObstacle'>;
  /** Which tasks of an account are fetching files of their inputs in this process. */
  readonly inputFetches: TenantShares;
  /** Which tasks of an account are being archived in this process. */
  readonly archivingSlots: SlotShares;
  /** The same for tasks of models that generate videos. */
  readonly videoArchivingSlots: SlotShares;
  /** Which tasks of an account have frames of their videos decoded in this process. */
  readonly frameDecoders: TenantShares;
  /** The stop requests to providers that are in progress in this process. */
  readonly stopSlots: StopSlots;
  /** Detects the types of files, in child processes. */
  readonly inspector: Pick<MediaInspector, 'inspect' | 'inspectFile'>;
  /** Fires, with the error to end with as its reason, when the worker hands back work that another worker can continue. */
  readonly stopping: AbortSignal;
  /** Fires later, when waiting for upstreams is no longer allowed either. */
  readonly ending: AbortSignal;
  /** Queries Temporal for the results of one run of a task's workflow; undefined: Temporal no longer has the run. */
  readRun(taskId: TaskId, runId: string): Promise<RunRecord | undefined>;
}
