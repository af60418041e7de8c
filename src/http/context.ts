/**
 * What the HTTP room is given: put together in processes/http-context.ts.
 */
import type { IncomingMessage } from 'node:http';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { WebhookKeys } from '../accounts/webhook-key.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { PinnedDefinitions } from '../catalogue/pinned-definitions.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { Egress } from '../egress/guarded-client.ts';
import type { ObjectStore } from '../files/object-store.ts';
import type { UrlSigner } from '../files/signed-url.ts';
import type { RateLimiter } from '../limits/rate-limiter.ts';
import type { TaskCreator } from '../tasks/create.ts';
import type { TaskDetail } from '../tasks/read.ts';
import type { Logger } from '../telemetry/log.ts';

export interface HttpContext {
  readonly config: Config;
  readonly logger: Logger;
  readonly database: Database;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly definitions: PinnedDefinitions;
  readonly webhookKeys: WebhookKeys;
  readonly egress: Egress;
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly catalogue: Catalogue;
  readonly taskCreator: TaskCreator;
  /** Milliseconds since 1970. */
  now(): number;
  /** Whose request it is: the socket's peer, or what a trusted proxy says (contract §7). */
  clientAddress(request: IncomingMessage): string;
  /** There is something in the outbox. */
  wakeLauncher(): void;
  /** A task was read: after the answer, look whether it needs repair. */
  considerRepair(task: TaskDetail): void;
  /** Whether this process takes requests: false from SIGTERM on. */
  isReady(): boolean;
}
