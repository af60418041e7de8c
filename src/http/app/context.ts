/**
 * What every handler of a request has: the dependencies of the module, assembled in processes/http-context.ts, and what
 * the middleware passes on.
 */
import type { IncomingMessage } from 'node:http';
import type { MessageId } from '@darkroom/api/mcp/json-rpc';
import type { MediaInspector } from '@darkroom/media/inspect';
import type { PreviewMaker } from '@darkroom/media/preview';
import type { Authenticator, Caller } from '../../accounts/authenticate.ts';
import type { KeyUse } from '../../accounts/key-use.ts';
import type { OpenResponses } from '../../accounts/open-responses.ts';
import type { Sessions } from '../../accounts/sessions.ts';
import type { WebhookKeys } from '../../accounts/webhook-key.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { PinnedDefinitions } from '../../catalogue/pinned-definitions.ts';
import type { Config } from '../../config/config.ts';
import type { DatabaseClock } from '../../database/database-clock.ts';
import type { Database } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Egress } from '../../egress/guarded-client.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import type { UrlSigner } from '../../objects/urls/signed-url.ts';
import type { RateLimiter } from '../../limits/rate-limiter.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { Turns } from '../../limits/turns.ts';
import type { CredentialProbes } from '../../providers/credential-probes.ts';
import type { HookVerifier } from '../../providers/hooks/verify-hook.ts';
import type { TaskCreator } from '../../tasks/create/create.ts';
import type { EventFeed } from '../../tasks/listing/feed.ts';
import type { PieceFeed } from '../../tasks/listing/piece-feed.ts';
import type { OutboxItem } from '../../tasks/outbox/outbox.ts';
import type { TaskDetail, TaskReader } from '../../tasks/record/read.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { TextAnswers } from '../../text/answer.ts';
import type { BackgroundFeed } from '../../text/background/event-log.ts';
import type { UpstreamSettings } from '../../upstreams/upstream-settings.ts';
import type { BodyAllowances } from '../bodies/body-allowance.ts';
import type { BodyThreads } from '../bodies/json-body.ts';
import type { UploadBounds } from '../bodies/upload-line.ts';
import type { SessionCookie } from '../middleware/session-cookie.ts';
import type { EventStreams } from '../streams/event-stream.ts';

export interface HttpContext {
  readonly config: Config;
  readonly installationId: string;
  readonly logger: Logger;
  /** The metrics of this process. */
  readonly metrics: Metrics;
  /** The metrics, and the values that are read at that moment, in Prometheus' text format. */
  renderMetrics(): Promise<string>;
  readonly database: Database;
  /** For statements that lock the row of one account (limits/row-databases.ts). */
  readonly accountDatabase: AccountDatabase;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly definitions: PinnedDefinitions;
  readonly webhookKeys: WebhookKeys;
  /** Identifies the type of files, in child processes. */
  readonly inspector: MediaInspector;
  readonly egress: Egress;
  /** Validates URLs that clients send. */
  readonly egressPolicy: EgressPolicy;
  readonly authenticator: Authenticator;
  readonly keyUse: KeyUse;
  readonly sessions: Sessions;
  /** Open responses, ended once their caller loses access. */
  readonly openResponses: OpenResponses;
  readonly sessionCookie: SessionCookie;
  readonly rateLimiter: RateLimiter;
  /** Limits of request bodies, by account. */
  readonly bodies: BodyAllowances;
  /** Parse large bodies. */
  readonly bodyThreads: BodyThreads;
  /** Uploads in progress, by account. */
  readonly uploadSlots: TenantShares;
  /** The bounds of an upload (http/bodies/upload-line.ts). */
  readonly uploadBounds: UploadBounds;
  /** How long a streamed media call waits before it sends its head, in milliseconds (http/media-calls/call.ts). */
  readonly streamHeadMs: number;
  /** The turns in which this process works on large bodies. */
  readonly turns: Turns;
  /** Responses that wait for something to happen, by account. */
  readonly waitingResponses: TenantShares;
  /** Images of text requests that are being fetched, by account. */
  readonly imageFetches: TenantShares;
  /** Makes small copies of outputs, in child processes. */
  readonly previews: PreviewMaker;
  /** Lists and sums in progress, by account. */
  readonly expensiveReads: TenantShares;
  readonly catalogue: Catalogue;
  readonly upstreamSettings: UpstreamSettings;
  /** What providers say about their credentials. */
  readonly credentialProbes: CredentialProbes;
  readonly taskCreator: TaskCreator;
  /** Reads of tasks that may share a statement. */
  readonly taskReader: TaskReader;
  /** Verifies that providers signed their webhooks. */
  readonly hookVerifier: HookVerifier;
  readonly textAnswers: TextAnswers;
  /** Closed when the process drains: streams end, and waiting requests are answered. */
  readonly feed: EventFeed;
  /** Files that are being generated. */
  readonly pieces: PieceFeed;
  /** Streams of responses in the background; closed when the process drains. */
  readonly backgroundFeed: BackgroundFeed;
  readonly eventStreams: EventStreams;
  readonly tracing: Tracing;
  /** The database's clock, as this process has measured it. */
  readonly clock: DatabaseClock;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
  /** The client address of a request: the socket's peer, or what a trusted proxy reports (contract §7). */
  clientAddress(request: IncomingMessage): string;
  /** Wakes the launcher: there is something in the outbox; `claimed` is for this process to deliver. */
  wakeLauncher(claimed?: OutboxItem): void;
  /** Wakes what works on batches and answers text calls in the background: some may be due. */
  wakeDueWork(): void;
  /** Whether this process can deliver starts at this moment. */
  mayClaim(): boolean;
  /** A task was read: after the response, check whether it needs repair. */
  considerRepair(task: TaskDetail): void;
  /** Whether this process should receive requests: false from SIGTERM on, although it still answers new ones. */
  isReady(): boolean;
  /**
   * Aborted shortly before the process ends the requests still in progress, with the reason that a text call then
   * reports.
   */
  readonly stopSignal: AbortSignal;
}

/** Koa's `ctx.state`. */
export interface RequestState {
  requestId: string;
  /** Only on routes that need a key. */
  caller: Caller;
  /** The task that this request created. */
  createdTaskId?: TaskId;
  /** The id of the JSON-RPC message in this request, once it was read. */
  messageId?: MessageId;
}
